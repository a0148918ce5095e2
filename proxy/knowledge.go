package proxy

import (
	"context"
	"strings"
	"time"
	"unicode"

	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/memory"
)

// This file renders what memory knows into the Knowledge Context of a prompt.

// know completes an input with what is known, for a request that names its
// place. Like all surroundings it never fails the turn.
func (x *exchange) know(ctx context.Context, in *assemble.Input, scope memory.Scope) {
	if !x.who.placed || x.s.cfg.Knowledge == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, x.s.cfg.Limits.SmartBudget/2) // the rest of the prompt matters more
	defer cancel()
	k, err := x.s.cfg.Memory.Knowledge(ctx, scope)
	if err != nil {
		x.s.cfg.Metrics.FailOpen.WithLabelValues("ambient", "knowledge").Inc()
		return
	}
	if worded := x.worded(ctx, &k); worded != nil {
		in.Knowledge = worded
		return
	}
	in.Knowledge = knowledgeSheet(&k, x.s.cfg.Knowledge)
}

// worded is what is known in the words of the model for the background: what it
// made of the workspace's memories and of the user's own. Nil when it has made
// nothing of what is known now.
func (x *exchange) worded(ctx context.Context, all *memory.Knowledge) assemble.Sheet {
	if x.s.cfg.Ambient == nil {
		return nil
	}
	var out assemble.Sheet
	made := false
	owners := []string{""}
	if x.who.user != "" {
		owners = append(owners, x.who.user)
	}
	for _, user := range owners {
		scope, err := memory.NewScope(x.who.tenant, x.who.agent, user)
		if err != nil {
			return nil
		}
		own, err := x.s.cfg.Memory.OwnKnowledge(ctx, scope) // it has just been read
		if err != nil {
			return nil
		}
		groups := sheet(x.s.cfg.Ambient.Knowledge(ctx, x.who.tenant, x.who.agent, user, own.Version))
		if groups == nil && own.Version != 0 {
			groups = knowledgeSheet(&memory.Knowledge{Known: own.Known}, x.s.cfg.Knowledge/len(owners))
		} else if groups != nil {
			made = true
		}
		out = append(out, groups...)
	}
	if !made {
		return nil
	}
	if odd := oddGroup(all); len(odd.Lines) > 0 {
		out = append(out, odd)
	}
	return out
}

// KnowledgeLines lists what is known as a prompt would, in about so many words.
func KnowledgeLines(k *memory.Knowledge, words int) (out []string) {
	for _, g := range knowledgeSheet(k, words) {
		for _, l := range g.Lines {
			label := l.Type
			if !l.CreatedAt.IsZero() {
				label += ", " + l.CreatedAt.UTC().Format(time.DateOnly)
			}
			out = append(out, "["+label+"] "+l.Content)
		}
	}
	return out
}

// knowledgeHeadings are the groups of the section, in the order in which they
// stand, and how many memories of each go in at a time while there is room: so
// that no type crowds out the others.
var knowledgeHeadings = [...]struct {
	typ     memory.Type
	heading string
	share   int
}{
	{memory.Decision, "Decisions", 3},
	{memory.Goal, "Goals", 2},
	{memory.Preference, "Preferences", 2},
	{memory.Fact, "Facts", 3},
	{memory.Observation, "Observations", 1},
}

// knowledgeSheet is what is known in about so many words, the most important
// of each type first. Equal knowledge gives an equal sheet.
func knowledgeSheet(k *memory.Knowledge, words int) assemble.Sheet {
	odd := oddGroup(k)
	left := words - wordsOf(odd.Lines)
	var sheet assemble.Sheet
	var taken [len(knowledgeHeadings)]int
	for progress := true; progress && left > 0; {
		progress = false
		for i, h := range knowledgeHeadings {
			items := known(k, h.typ).Items
			for range h.share {
				if taken[i] == len(items) || left <= 0 {
					break
				}
				left -= wordCount(items[taken[i]].Content)
				if left < 0 { // it doesn't fit, nor need what is worth less
					break
				}
				taken[i]++
				progress = true
			}
		}
	}
	for i, h := range knowledgeHeadings {
		of := known(k, h.typ)
		if taken[i] == 0 {
			continue
		}
		g := assemble.Group{Heading: h.heading, Total: of.Total}
		for j := range of.Items[:taken[i]] {
			g.Lines = append(g.Lines, frame(&of.Items[j]))
		}
		sheet = append(sheet, g)
	}
	if len(odd.Lines) > 0 {
		sheet = append(sheet, odd)
	}
	return sheet
}

// oddGroup names contradictions and gaps.
func oddGroup(k *memory.Knowledge) assemble.Group {
	g := assemble.Group{Heading: "Contradictions and gaps"}
	for i := range k.Opposed {
		o := &k.Opposed[i]
		g.Lines = append(g.Lines, assemble.Frame{
			ID: assemble.Aside + o.ID + "," + o.Other.ID, Type: "contradiction", CreatedAt: o.CreatedAt,
			Content:  o.Content + " (" + o.Other.CreatedAt.UTC().Format(time.DateOnly) + ": " + o.Other.Content + ")",
			Personal: o.User != "" || o.Other.User != "",
		})
	}
	if len(k.Unknown) > 0 {
		g.Lines = append(g.Lines, assemble.Frame{Type: "gap", Content: "Goals and to-dos name it, nothing else is known of it: " + strings.Join(k.Unknown, ", ")})
	}
	return g
}

func known(k *memory.Knowledge, typ memory.Type) memory.Known {
	for i := range k.Known {
		if k.Known[i].Type == typ {
			return k.Known[i]
		}
	}
	return memory.Known{}
}

func wordsOf(lines []assemble.Frame) (n int) {
	for i := range lines {
		n += wordCount(lines[i].Content)
	}
	return n
}

// wordCount counts what stands between spaces, and two characters of a script
// that has none, such as Chinese, as a word.
func wordCount(text string) int {
	words, dense, inside := 0, 0, false
	for _, r := range text {
		switch {
		case r >= 0x2e80:
			dense, inside = dense+1, false
		case unicode.IsSpace(r):
			inside = false
		case !inside:
			words, inside = words+1, true
		}
	}
	return words + (dense+1)/2
}
