package replay

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/routing"
	"github.com/understudy-ai/understudy/scoring"
)

// Scorer scores the words of a human turn.
type Scorer interface {
	Score(text string) scoring.Score
}

// maxLine bounds a line of traffic.
const maxLine = 64 << 20

// Read reads traffic, one JSON object a line, of either kind:
//
//   - {"ts", "session", "body", "usage"}: an instant (RFC 3339, or Unix
//     seconds), whose conversation it is, the request's body, and the usage
//     object of its answer; "agent" and "model", which answered, may be there;
//   - an entry of the ledger's export. It holds no text, so its tier stands for
//     the prompt's; of a turn that was held above what it asked for, that is
//     taken to be one tier less. Requests that were not answered are left out.
//
// The steps come in order of time. told is called with the bytes of each line.
// The error names the line.
func Read(r io.Reader, scorer Scorer, told func(int)) ([]Step, error) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), maxLine)
	var steps []Step
	turns := make(map[string]int)
	for n := 1; in.Scan(); n++ {
		told(len(in.Bytes()) + 1)
		if len(bytes.TrimSpace(in.Bytes())) == 0 {
			continue
		}
		s, ok, err := readLine(in.Bytes(), scorer, turns)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if ok {
			steps = append(steps, s)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("reading traffic: %w", err)
	}
	slices.SortStableFunc(steps, func(a, b Step) int { return a.At.Compare(b.At) })
	return steps, nil
}

// line is a line of traffic of the first kind.
type line struct {
	TS      json.RawMessage `json:"ts"`
	Session string          `json:"session"`
	Agent   string          `json:"agent"`
	Model   string          `json:"model"`
	Body    json.RawMessage `json:"body"`
	Usage   json.RawMessage `json:"usage"`
}

func readLine(data []byte, scorer Scorer, turns map[string]int) (Step, bool, error) {
	var l line
	if err := json.Unmarshal(data, &l); err != nil {
		return Step{}, false, err
	}
	if l.Body == nil {
		return readEntry(data, turns)
	}
	at, err := readTime(l.TS)
	if err != nil {
		return Step{}, false, err
	}
	v, err := chat.Parse(l.Body)
	if err != nil {
		return Step{}, false, fmt.Errorf("reading its body: %w", err)
	}
	usage, ok := ledger.ParseUsage(l.Usage)
	if !ok {
		return Step{}, false, errors.New("its usage says nothing")
	}
	s := Step{At: at, Usage: usage, Model: l.Model, Request: requestOf(v, scorer)}
	s.Request.Session, s.Request.Agent = l.Session, l.Agent
	return s, true, nil
}

// readTime reads an instant: RFC 3339, or Unix seconds.
func readTime(raw json.RawMessage) (time.Time, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return time.Parse(time.RFC3339, text)
	}
	seconds, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !(seconds >= 0 && seconds < 1<<40) {
		return time.Time{}, fmt.Errorf("its ts, %.40s, is neither an RFC 3339 time nor Unix seconds", raw)
	}
	return time.UnixMicro(int64(seconds * 1e6)), nil
}

const (
	bytesPerToken = 4 // as the proxy estimates
	maxProbe      = 4 // an output limit of no more is a probe's
)

// requestOf is what routing would be asked for a body.
func requestOf(v *chat.View, scorer Scorer) routing.Request {
	humans, words := v.Said(func(text string) string { return scoring.HumanText(assemble.Strip(text)) })
	turn := ""
	if n := len(humans); n > 0 {
		sum := sha256.Sum256([]byte(words))
		turn = strconv.Itoa(humans[n-1]) + hex.EncodeToString(sum[:8])
	}
	frame := fnv.New64a()
	io.WriteString(frame, v.ToolNames)
	if at := v.Leading(); at >= 0 {
		io.WriteString(frame, v.Text(at))
	}
	return routing.Request{
		Turn: turn, Frame: frame.Sum64() | 1, Humans: len(humans), Model: v.Model(), ProcessType: "channel",
		Score: scorer.Score(words), Terse: scoring.Terse(words), SideCall: v.MaxOutput > 0 && v.MaxOutput <= maxProbe,
		Needs: v.Needs, InputTokens: v.TextBytes / bytesPerToken, MaxOutput: v.MaxOutput,
	}
}

// readEntry reads an entry of the ledger. turns counts the human turns of each
// conversation so far.
func readEntry(data []byte, turns map[string]int) (Step, bool, error) {
	var e ledger.Entry
	if err := json.Unmarshal(data, &e); err != nil {
		return Step{}, false, err
	}
	if e.ID == "" || e.At.IsZero() {
		return Step{}, false, errors.New("it has neither a body nor the id and time of a ledger's entry")
	}
	if !e.UsageKnown || e.Background != "" {
		return Step{}, false, nil
	}
	asked, err := scoring.ParseTier(e.Tier)
	if err != nil {
		asked = scoring.Standard // nothing was decided
	}
	if (e.Reason == "held" || e.Reason == "stay") && asked > scoring.Light {
		asked--
	}
	key := e.Tenant + "\x00" + e.Agent + "\x00" + e.Session
	if e.Reason != "turn" {
		turns[key]++
	}
	usage := e.Usage
	usage.Input -= min(usage.Input, e.InjectedMemoryTokens+e.InjectedScaffoldTokens)
	return Step{
		At: e.At, Usage: usage, Model: e.RoutedModel, Cost: e.Cost,
		Request: routing.Request{
			Session: key, Turn: strconv.Itoa(turns[key]), Agent: e.Agent, Model: e.RequestedModel, ProcessType: e.ProcessType,
			Forced: e.Reason == "forced", ForcedTier: asked, Score: scoring.Score{Tier: asked}, Terse: e.Reason == "terse",
			InputTokens: int(usage.Input),
		},
	}, true, nil
}
