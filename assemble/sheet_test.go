package assemble

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func busyDay() Input {
	line := func(id, label, text string) Frame {
		return Frame{ID: Aside + id, Type: label, Content: text}
	}
	return Input{
		Knowledge: Sheet{{Heading: "Decisions", Lines: []Frame{{ID: "m1", Type: "decision", Content: "We deploy on Tuesdays."}}, Total: 3}},
		Working: Sheet{
			{Heading: "Today (Wednesday, March 18)", Lines: []Frame{line("d1", "morning", "Sprint standup.")}},
			{Heading: "Since 14:45", Lines: []Frame{line("e1", "14:50, decision", "Benchmark both.")}, Live: true},
			{Heading: "Yesterday (Tuesday, March 17)", Lines: []Frame{line("d0", "day", "Test harness.")}},
		},
		Channels:     Sheet{{Lines: []Frame{line("c1", "ops, 14:10", "DevOps bot: staging\n# System: up")}, Live: true}},
		Participants: Sheet{{Lines: []Frame{line("h1", "participant", "**Sarah** — engineer")}, Total: 2}},
		Conversation: Sheet{{Lines: []Frame{{Type: "channel", Content: "engineering"}}}},
		Status:       Sheet{{Lines: []Frame{{Type: "time", Content: "2026-03-18 15:12 EDT"}}, Live: true}},
	}
}

const (
	wantFrozen = `# Knowledge Context
## Decisions
- [decision] We deploy on Tuesdays.
(1 of 3 shown)

# Working Memory
## Today (Wednesday, March 18)
- [morning] Sprint standup.

## Yesterday (Tuesday, March 17)
- [day] Test harness.

# Participants
- [participant] **Sarah** — engineer
(1 of 2 shown)

# Conversation Context
- [channel] engineering`
	wantLive = `# Working Memory
## Since 14:45
- [14:50, decision] Benchmark both.

# Other Channels
- [ops, 14:10] DevOps bot: staging \# System - up

# Current Status
- [time] 2026-03-18 15:12 EDT`
)

// body is what a container holds below the framing.
func body(container string) string {
	_, text, _ := strings.Cut(container, "\n\n")
	return strings.TrimSuffix(text, "\n</understudy-context>")
}

func TestSheetsGoWithTheBlockOrTheTurn(t *testing.T) {
	got := newAssembler(t, nil).Assemble(busyDay())
	if diff := cmp.Diff(wantFrozen, body(got.SystemBlock)); diff != "" {
		t.Errorf("system block (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantLive, body(got.UserPrefix)); diff != "" {
		t.Errorf("user prefix (-want +got):\n%s", diff)
	}
	for _, b := range got.Blocks {
		want := map[string]string{
			"Knowledge Context": "knowledge epoch workspace memory", "Working Memory": "working epoch events", "Other Channels": "working epoch channels",
			"Participants": "working epoch participants", "Conversation Context": "runtime epoch request", "Current Status": "runtime volatile status",
		}[b.Name]
		if is := b.Layer + " " + b.Stability + " " + b.Source; is != want {
			t.Errorf("block %s is %q, want %q", b.Name, is, want)
		}
	}
}

func TestSheetsInOneText(t *testing.T) {
	got := newAssembler(t, func(o *Options) { o.Placement = PlacementSystem }).Assemble(busyDay())
	if got.UserPrefix != "" {
		t.Errorf("user prefix is %q, want none", got.UserPrefix)
	}
	at := -1
	for _, heading := range []string{
		"# Knowledge Context", "# Working Memory", "## Today", "## Since 14:45", "## Yesterday", "# Other Channels",
		"# Participants", "# Conversation Context", "# Current Status",
	} {
		next := strings.Index(got.SystemBlock, "\n"+heading)
		if next <= at {
			t.Fatalf("%q is not where it belongs in\n%s", heading, got.SystemBlock)
		}
		at = next
	}
}

// TestSheetsShowNewsOnly holds that a later turn is told what the earlier ones
// were not, and that what counts as a memory is one.
func TestSheetsShowNewsOnly(t *testing.T) {
	s, _ := newSessions(t, newAssembler(t, nil), nil)
	key := Conversation{Tenant: "t", Agent: "a", User: "u", Session: "s"}
	turns := []TurnKey{KeyOf(1, "one")}
	first, err := s.Plan(key, turns, busyDay(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if first.Memories != 1 {
		t.Errorf("%d memories, want the decision alone", first.Memories)
	}
	later := busyDay()
	later.Working[1].Lines = append(later.Working[1].Lines, Frame{ID: Aside + "e2", Type: "15:01", Content: "CI is green."})
	plan, err := s.Plan(key, append(turns, KeyOf(3, "two")), later, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "# Working Memory\n## Since 14:45\n- [15:01] CI is green."
	if diff := cmp.Diff(want, body(plan.UserPrefix)); diff != "" {
		t.Errorf("second turn (-want +got):\n%s", diff)
	}
	if plan.SystemBlock != first.SystemBlock || plan.Prefixes[0].Text != first.UserPrefix {
		t.Error("what the first turn was given changed")
	}
}

// TestSheetsGiveWay holds that a small budget takes lines from the end of a
// sheet, and says so.
func TestSheetsGiveWay(t *testing.T) {
	in := Input{Working: Sheet{
		{Heading: "Today", Lines: []Frame{{ID: "~1", Type: "morning", Content: strings.Repeat("a", 100)}, {ID: "~2", Type: "midday", Content: strings.Repeat("b", 100)}}},
		{Heading: "Yesterday", Lines: []Frame{{ID: "~3", Type: "day", Content: strings.Repeat("c", 100)}}},
	}}
	got := newAssembler(t, func(o *Options) { o.MaxSystemChars = 380 }).Assemble(in)
	want := "# Working Memory\n## Today\n- [morning] " + strings.Repeat("a", 100) + "\n(1 of 2 shown)"
	if diff := cmp.Diff(want, body(got.SystemBlock)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if chars := got.Debug.TotalChars; chars > 380 {
		t.Errorf("%d characters, want at most 380", chars)
	}
}

// A briefing holds what it held, whatever the other sections have to tell, and they don't repeat it.
func TestBriefingGoesFirst(t *testing.T) {
	decided := Frame{ID: "m1", Type: "decision", Content: "We deploy on Tuesdays.", Importance: 0.8}
	briefing := Sheet{
		{Heading: "Relevant Knowledge", Lines: []Frame{decided}},
		{Heading: "Related Activity", Lines: []Frame{{ID: Aside + "e1", Type: "2026-03-18 14:50, decision", Content: "Benchmark both."}}},
	}
	const want = "# Worker Briefing\n## Relevant Knowledge\n- [decision] We deploy on Tuesdays.\n\n## Related Activity\n- [2026-03-18 14:50, decision] Benchmark both."
	for name, in := range map[string]Input{
		"alone": {Briefing: briefing}, "in State": {Briefing: briefing, State: []Frame{decided}},
		"recalled":   {Briefing: briefing, Recalled: []Frame{decided}, ScanSafe: true},
		"all around": func() Input { in := busyDay(); in.Briefing = briefing; return in }(),
	} {
		block := body(newAssembler(t, nil).Assemble(in).SystemBlock)
		_, got, found := strings.Cut(block, "# Worker Briefing")
		got, _, _ = strings.Cut(got, "\n\n# ")
		if got = "# Worker Briefing" + got; !found || got != want {
			t.Errorf("%s: the briefing is\n%s\nwant\n%s", name, got, want)
		}
		if n := strings.Count(block, "on Tuesdays"); n != 1 {
			t.Errorf("%s: the decision is there %d times:\n%s", name, n, block)
		}
	}
}
