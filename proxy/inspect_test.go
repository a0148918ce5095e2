package proxy_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/proxy"
)

func inspected(c *proxy.Config) {
	c.Capture = proxy.CaptureConfig{Enabled: true, TTL: time.Hour, Bytes: 1 << 20}
	c.Assembly.Agent = func(name string) proxy.Agent {
		if name != "atlas" {
			return proxy.Agent{}
		}
		return proxy.Agent{Identity: []assemble.IdentityFile{{Name: "SOUL.md", Text: "You are Atlas."}}, Persona: &assemble.Persona{Name: "Ada", Text: "Brief."}}
	}
}

// TestInspect holds that a request can be looked at as the model got it, block
// by block, and as the client sent it, without secrets.
func TestInspect(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) { inspected(c); c.Memories = c.Memory.(proxy.Memories) })
	s.post(ask("auto", "We decided to use NATS for the event bus."), "X-User-Id: ana", "X-Agent-Id: atlas")
	if err := s.memory.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	const secret = "sk-proj-abcdefghijklmnopqrstuvwx0123456789ABCDEFGH"
	body := strings.Replace(talk("auto", compares), "Be brief.", "Be brief. The key is "+secret+".", 1)
	a := s.post(body, "X-User-Id: ana", "X-Agent-Id: atlas", "X-Session-Id: s", "X-Channel-Id: #ops", "X-Tier: light")
	sent := gjson.GetBytes(s.upstream.Last().Body, "messages").Array()
	s.row(a)
	got := gjson.Parse(s.send(http.MethodGet, "/api/requests/"+a.header.Get("X-Request-Id"), "").body)

	if got.Get("id").String() != a.header.Get("X-Request-Id") || got.Get("scaffold_arm").String() != "applied" {
		t.Errorf("the account is %s", got)
	}
	if before := got.Get("before.system").String(); !strings.HasPrefix(before, "Be brief. The key is ") || strings.Contains(got.Raw, secret) {
		t.Errorf("before = %q, want it without the key", before)
	}
	after := map[string]string{"system": got.Get("after.system").String(), "user": got.Get("after.user").String()}
	if want := sent[1].Get("content").String(); after["user"] != want {
		t.Errorf("user message (-sent +shown):\n%s", cmp.Diff(want, after["user"]))
	}
	if _, block, _ := strings.Cut(sent[0].Get("content").String(), secret+"."); !strings.HasSuffix(after["system"], block) || block == "" {
		t.Errorf("system prompt is shown as\n%s\nwas sent as\n%s", after["system"], sent[0])
	}
	var rows []string
	for _, b := range got.Get("blocks").Array() {
		text := after[b.Get("part").String()][b.Get("start").Int():b.Get("end").Int()]
		first, _, _ := strings.Cut(text, "\n")
		rows = append(rows, fmt.Sprint(b.Get("part"), " ", b.Get("name"), "|", b.Get("layer"), "|", b.Get("stability"), "|", b.Get("source"), "|", first))
		if int(b.Get("chars").Int()) != len([]rune(text)) || b.Get("tokens").Int() == 0 {
			t.Errorf("block %s has %d characters", b, len([]rune(text)))
		}
	}
	want := []string{
		"system Container|contract|static|understudy|<understudy-context>",
		"system Identity|identity|static|files|# Identity",
		"system Persona|identity|static|persona|## Persona: Ada",
		"system State|knowledge|epoch|personal memory|# State",
		"system Container|contract|static|understudy|</understudy-context>",
		"user Container|contract|static|understudy|<understudy-context>",
		"user Response format|contract|volatile|scaffold|# Response format",
		"user Container|contract|static|understudy|</understudy-context>",
		"user User message|runtime|volatile|client|" + compares,
	}
	if len(rows) == 0 || !strings.HasPrefix(rows[0], "system System prompt|contract|static|client|Be brief. The key is ") {
		t.Fatalf("blocks = %q, want the client's first", rows)
	}
	if diff := cmp.Diff(want, rows[1:]); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	tokens := func(blocks string) (sum int64) {
		for _, b := range got.Get(blocks).Array() {
			sum += b.Get("tokens").Int()
		}
		return sum
	}
	if before, after := tokens("before_blocks"), tokens("blocks"); before == 0 || after <= before || len(got.Get("before_blocks").Array()) != 2 {
		t.Errorf("%d tokens in blocks before and %d after, want some of two blocks, and more:\n%s", before, after, got)
	}
	if d := got.Get("debug"); d.Get("model_tier").String() != "small" || d.Get("retrieval.frames").Int() != 3 || d.Get("frames_used").Int() == 0 || !d.Get("scaffold_applied").Bool() {
		t.Errorf("debug = %s", d)
	}

	t.Run("channel", func(t *testing.T) {
		list := gjson.Parse(s.send(http.MethodGet, "/api/channels", "").body)
		if c := list.Get(`channels.#(id=="#ops")`); c.Get("last_request_id").String() != a.header.Get("X-Request-Id") || c.Get("history_length").Int() != 2 {
			t.Errorf("channels = %s", list)
		}
		got := gjson.Parse(s.send(http.MethodGet, "/api/channels/inspect?channel_id=%23ops", "").body)
		if got.Get("system_prompt").String() != after["system"] || !got.Get("capture_enabled").Bool() || got.Get("history_length").Int() != 2 ||
			int(got.Get("total_chars").Int()) != len([]rune(after["system"])) || len(got.Get("blocks").Array()) != len(rows) {
			t.Errorf("inspect = %s", got)
		}
		for query, status := range map[string]int{"": 400, "?channel_id=nowhere": 404, "?channel_id=%23ops&tenant=other": 404} {
			if got := s.send(http.MethodGet, "/api/channels/inspect"+query, ""); got.status != status {
				t.Errorf("inspect%s = %d, want %d", query, got.status, status)
			}
		}
	})
	t.Run("forgotten", func(t *testing.T) {
		if got := s.send(http.MethodDelete, "/api/users/ana", ""); got.status != 200 {
			t.Fatalf("forgetting: %d %s", got.status, got.body)
		}
		if got := s.send(http.MethodGet, "/api/requests/"+a.header.Get("X-Request-Id"), ""); strings.Contains(got.body, "NATS") {
			t.Errorf("what ana was told is still there: %s", got.body)
		}
	})
}

// TestInspectAll holds that whatever was put into a conversation's fifth turn,
// before earlier turns, too, is in a block, but for white space, and nothing
// else: blocks and the client's own words are the messages that went out.
func TestInspectAll(t *testing.T) {
	for created, system := range []string{`{"role":"system","content":"Be brief."},`, ""} {
		s := newStack(t, func(c *proxy.Config) { inspected(c); c.Memories = c.Memory.(proxy.Memories) })
		history, id := strings.TrimSuffix(system, ","), ""
		for i, question := range []string{compares, "Which store does the ledger service use?", "Thanks.", "Which queue does the billing service use?", compares} {
			s.post(ask("auto", []string{
				"We decided to use NATS for the event bus.", "We decided to use PostgreSQL for the ledger service.", "I prefer French.",
				"We decided to use Kafka for the billing service.", "We decided to use Envoy for the edge.",
			}[i]), "X-User-Id: ana", "X-Agent-Id: atlas", "X-Session-Id: other")
			if err := s.memory.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			if history != "" {
				history += ","
			}
			history += `{"role":"user","content":` + mustQuote(question) + `}`
			a := s.post(`{"model":"auto","messages":[`+history+`]}`, "X-User-Id: ana", "X-Agent-Id: atlas", "X-Session-Id: s", "X-Tier: light")
			s.row(a)
			id = a.header.Get("X-Request-Id")
			history += `,{"role":"assistant","content":"So be it."}`
		}
		sent := gjson.GetBytes(s.upstream.Last().Body, "messages").Array()
		got := gjson.Parse(s.send(http.MethodGet, "/api/requests/"+id, "").body)

		if diff := cmp.Diff(spoken(sent), messagesOf(t, got, gjson.Parse("[" + history + "]").Array()[:len(sent)-created])); diff != "" {
			t.Errorf("messages (-sent +by their blocks):\n%s\n%s", diff, got)
		}
		sections := map[string]int{}
		for _, b := range got.Get(`blocks.#(part=="earlier")#`).Array() {
			sections[b.Get("name").String()]++
			if at := b.Get("message").Int(); b.Get("stability").String() == "volatile" || sent[at].Get("role").String() != "user" || int(at) == len(sent)-1 {
				t.Errorf("block %s is not of an earlier turn, frozen", b)
			}
		}
		if diff := cmp.Diff(map[string]int{"Container": 8, "Recalled memory": 3, "Response format": 1}, sections); diff != "" {
			t.Errorf("sections of earlier turns (-want +got):\n%s", diff)
		}
	}
}

// messagesOf puts together what went upstream from the blocks of a request and
// what the client sent.
func messagesOf(t *testing.T, inspected gjson.Result, client []gjson.Result) []string {
	t.Helper()
	var messages []string // that the client wrote all by itself, until a block says otherwise
	if client[0].Get("role").String() == "user" {
		messages = append(messages, "system: ")
	}
	messages = append(messages, spoken(client)...)
	rest := map[int64]string{} // the human's words after what stands before them
	end, last, text := 0, int64(-1), ""
	for _, b := range inspected.Get("blocks").Array() {
		at, part, start := b.Get("message").Int(), b.Get("part").String(), int(b.Get("start").Int())
		if at != last {
			role, own, _ := strings.Cut(messages[at], ": ")
			messages[at], end, last = role+": ", 0, at
			if text = inspected.Get("after." + part).String(); part == "earlier" {
				text = inspected.Get(fmt.Sprintf("after.earlier.#(message==%d).text", at)).String()
				rest[at] = "\n\n" + own
			}
		}
		if between := text[end:start]; strings.Trim(between, "\n") != "" {
			t.Errorf("%q stands before the block %s, in none", between, b)
		}
		messages[at] += text[end:b.Get("end").Int()]
		end = int(b.Get("end").Int())
	}
	for at, own := range rest {
		messages[at] += own
	}
	return messages
}

// spoken is messages as "role: content".
func spoken(messages []gjson.Result) (out []string) {
	for _, m := range messages {
		out = append(out, m.Get("role").String()+": "+m.Get("content").String())
	}
	return out
}

// TestInspectFailedOpen holds that a request which went out as it came is shown
// so.
func TestInspectFailedOpen(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) { inspected(c); c.Memory = brokenMemory{errors.New("disk full")} })
	a := s.post(talk(large, compares), "X-Agent-Id: atlas")
	s.row(a)
	got := gjson.Parse(s.send(http.MethodGet, "/api/requests/"+a.header.Get("X-Request-Id"), "").body)
	if got.Get("fail_open").String() != "memory" || got.Get("before").Raw != got.Get("after").Raw || got.Get("after.system").String() != "Be brief." || got.Get("debug").Exists() {
		t.Errorf("request = %s", got)
	}
}

func TestCaptureOff(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) { inspected(c); c.Capture.Enabled = false })
	a := s.post(talk("auto", compares), "X-Channel-Id: c")
	s.row(a)
	if got := s.send(http.MethodGet, "/api/requests/"+a.header.Get("X-Request-Id"), ""); got.status != 200 || strings.Contains(got.body, "Redis") || strings.Contains(got.body, "before") {
		t.Errorf("request = %s", got.body)
	}
	got := gjson.Parse(s.send(http.MethodGet, "/api/channels/inspect?channel_id=c", "").body)
	if got.Get("capture_enabled").Bool() || got.Get("system_prompt").String() != "" || got.Get("history_length").Int() != 2 {
		t.Errorf("inspect = %s", got)
	}
}

// TestCaptureIsBounded sends more than is kept, and finds the newest alone.
func TestCaptureIsBounded(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) { inspected(c); c.Capture.Bytes = 20_000 })
	var ids []string
	for i := range 30 {
		a := s.post(ask("auto", strings.Repeat("a long message. ", 100)), fmt.Sprint("X-Channel-Id: ", i))
		ids = append(ids, a.header.Get("X-Request-Id"))
		s.row(a)
	}
	kept := 0
	for i, id := range ids {
		if gjson.Get(s.send(http.MethodGet, "/api/requests/"+id, "").body, "before").Exists() {
			kept++
		} else if i == len(ids)-1 {
			t.Error("the newest isn't kept")
		}
	}
	if channels := len(gjson.Get(s.send(http.MethodGet, "/api/channels", "").body, "channels").Array()); kept == 0 || kept > 12 || channels != kept {
		t.Errorf("%d requests and %d channels are kept, want some", kept, channels)
	}
}

// TestInspectParts holds that a prompt of parts is shown in the order in which
// it went out: what was added stands before the last text part.
func TestInspectParts(t *testing.T) {
	s := newStack(t, inspected)
	a := s.post(`{"model":"auto","messages":[{"role":"user","content":[{"type":"text","text":"A lönger document."},`+
		`{"type":"text","text":"`+compares+`"}]}]}`, "X-Session-Id: s", "X-Tier: light")
	s.row(a)
	got := gjson.Parse(s.send(http.MethodGet, "/api/requests/"+a.header.Get("X-Request-Id"), "").body)
	user, places := got.Get("after.user").String(), []int{}
	for _, b := range got.Get("blocks").Array() {
		if b.Get("part").String() == "user" {
			text := user[b.Get("start").Int():b.Get("end").Int()]
			places = append(places, strings.Index(text, "A lönger document."), strings.Index(text, "# Response format"), strings.Index(text, compares))
		}
	}
	want := []int{0, -1, -1 /* container */, -1, -1, -1 /* scaffold */, -1, 0, -1 /* container */, -1, -1, -1 /* question */, -1, -1, 0}
	if diff := cmp.Diff(want, places); diff != "" {
		t.Errorf("blocks (-want +got):\n%s\n%s", diff, user)
	}
}

// TestInspectResent holds that a message of parts in which the client sends
// back what it was shown, so that nothing is added to it, is shown so.
func TestInspectResent(t *testing.T) {
	s := newStack(t, inspected)
	block := `<understudy-context>\nmine\n</understudy-context>\n\n`
	a := s.post(`{"model":"auto","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"`+block+compares+`"}]}]}`,
		"X-Session-Id: s", "X-Tier: light", "X-Agent-Id: atlas")
	s.row(a)
	if sent := string(s.upstream.Last().Body); !strings.Contains(sent, "Atlas") || strings.Contains(sent, "Response format") {
		t.Fatalf("something was added to the human's message, or nothing to the system prompt: %s", sent)
	}
	got := gjson.Parse(s.send(http.MethodGet, "/api/requests/"+a.header.Get("X-Request-Id"), "").body)
	if diff := cmp.Diff(got.Get("before.user").String(), got.Get("after.user").String()); diff != "" || got.Get(`blocks.#(part=="user")#.source`).Raw != `["client"]` {
		t.Errorf("shown as changed (-before +after):\n%s\n%s", diff, got.Get("blocks"))
	}
}
