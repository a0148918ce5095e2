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
		"system Identity|identity|static|files|# Identity",
		"system Persona|identity|static|persona|## Persona: Ada",
		"system State|knowledge|epoch|personal memory|# State",
		"user Response format|contract|volatile|scaffold|# Response format",
		"user User message|runtime|volatile|client|" + compares,
	}
	if len(rows) == 0 || !strings.HasPrefix(rows[0], "system System prompt|contract|static|client|Be brief. The key is ") {
		t.Fatalf("blocks = %q, want the client's first", rows)
	}
	if diff := cmp.Diff(want, rows[1:]); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
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
	if diff := cmp.Diff([]int{0, -1, -1, -1, 0, -1, -1, -1, 0}, places); diff != "" {
		t.Errorf("blocks (-want +got):\n%s\n%s", diff, user)
	}
}
