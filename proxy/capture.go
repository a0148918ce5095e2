package proxy

import (
	"container/list"
	"strings"
	"sync"
	"time"

	"github.com/understudy-ai/understudy/assemble"
)

// CaptureConfig bounds what is kept of prompts for looking at them.
type CaptureConfig struct {
	Enabled bool          // false: which channels there are, and no text
	TTL     time.Duration // older ones go
	Bytes   int           // of all texts together; the oldest go first
}

// capture is one request as it can be inspected: its texts, and the plan of
// what was added to them. Nothing in it is changed once it is kept.
type capture struct {
	id, tenant, agent, user, channel, session, model string

	at       time.Time
	messages int // of the request

	enabled      bool // what follows was kept
	system, said string
	ahead        int   // bytes of said before what was added to it
	led          bool  // a system message leads
	human        int   // the message that said is the text of
	humans       []int // the human messages that were planned for
	planned      bool  // assembly had its say
	plan         assemble.Plan
	inserted     bool // and what it said went out
}

// channelKey names a channel of a tenant.
type channelKey struct{ tenant, id string }

// captures keeps the newest requests in RAM, within bounds.
type captures struct {
	cfg CaptureConfig

	mu       sync.Mutex // guards what follows
	order    *list.List // of *capture, the newest first
	byID     map[string]*list.Element
	channels map[channelKey]*channel
	bytes    int
}

// channel is where conversations happen.
type channel struct {
	newest   *capture
	requests int
}

// maxChannels bounds the channels that are listed. When there are more, those
// whose newest request is not kept any more go.
const maxChannels = 10_000

func newCaptures(cfg CaptureConfig) *captures {
	return &captures{cfg: cfg, order: list.New(), byID: map[string]*list.Element{}, channels: map[channelKey]*channel{}}
}

// maxCaptured bounds a text of the client's that is kept; no more than its
// beginning can be looked at.
const maxCaptured = 256 << 10

// capture notes the texts of a request before its bytes are given back.
func (x *exchange) capture() {
	c := &x.seen
	c.messages = len(x.view.Messages)
	if c.enabled = x.s.captures.cfg.Enabled; !c.enabled {
		return
	}
	c.human, c.humans = x.human, x.humans
	if lead := x.view.Leading(); lead >= 0 {
		c.led = true
		c.system = clip(x.view.Text(lead))
	}
	if n := len(x.said); n > 0 {
		c.said, c.ahead = clip(x.said[n-1]), x.view.Ahead(x.human)
	} else if x.human >= 0 {
		c.said = clip(x.view.Text(x.human))
	}
	c.planned, c.plan, c.inserted = x.turns != nil && x.failOpen == "", x.prompt, x.added != nil
}

func clip(text string) string {
	if len(text) <= maxCaptured {
		return text
	}
	return strings.ToValidUTF8(text[:maxCaptured], "")
}

// channelID is where the request belongs: its channel, or its conversation.
func (x *exchange) channelID() string {
	if x.who.channel != "" {
		return x.who.channel
	}
	return x.session
}

// keep takes a finished request.
func (cs *captures) keep(x *exchange) {
	c := x.seen
	c.id, c.at, c.tenant, c.agent, c.user = x.id, x.start, x.who.tenant, x.who.agent, x.who.user
	c.channel, c.session, c.model = x.channelID(), x.session, x.routed()
	if c.channel == "" || c.messages == 0 { // bypassed, or refused before it had a conversation
		return
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.byID[c.id] = cs.order.PushFront(&c)
	cs.bytes += c.size()
	cs.note(&c)
	for last := cs.order.Back(); last != nil; last = cs.order.Back() {
		oldest := last.Value.(*capture)
		if cs.bytes <= cs.cfg.Bytes && c.at.Sub(oldest.at) <= cs.cfg.TTL {
			break
		}
		cs.order.Remove(last)
		delete(cs.byID, oldest.id)
		cs.bytes -= oldest.size()
		if ch := cs.channels[channelKey{oldest.tenant, oldest.channel}]; ch != nil && ch.newest == oldest {
			delete(cs.channels, channelKey{oldest.tenant, oldest.channel})
		}
	}
}

func (cs *captures) note(c *capture) {
	key := channelKey{c.tenant, c.channel}
	ch := cs.channels[key]
	if ch == nil {
		if len(cs.channels) >= maxChannels {
			return
		}
		ch = &channel{}
		cs.channels[key] = ch
	}
	ch.newest = c
	ch.requests++
}

// forget drops what match approves.
func (cs *captures) forget(match func(*capture) bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for element := cs.order.Front(); element != nil; {
		next := element.Next()
		if c := element.Value.(*capture); match(c) {
			cs.order.Remove(element)
			delete(cs.byID, c.id)
			cs.bytes -= c.size()
			delete(cs.channels, channelKey{c.tenant, c.channel})
		}
		element = next
	}
}

// captureOverhead is what a capture takes beside its texts, with its places in
// list and maps.
const captureOverhead = 1024

func (c *capture) size() int {
	size := captureOverhead + len(c.system) + len(c.said) + len(c.plan.SystemBlock) + 8*len(c.humans)
	for i := range c.plan.Prefixes {
		size += len(c.plan.Prefixes[i].Text)
	}
	return size
}

// find returns a request of the tenant, nil when it is not kept.
func (cs *captures) find(tenant, id string) *capture {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if element := cs.byID[id]; element != nil {
		if c := element.Value.(*capture); c.tenant == tenant && time.Since(c.at) <= cs.cfg.TTL {
			return c
		}
	}
	return nil
}

// newest returns the newest request of a channel, nil when there is none.
func (cs *captures) newest(tenant, id string) *capture {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if ch := cs.channels[channelKey{tenant, id}]; ch != nil && time.Since(ch.newest.at) <= cs.cfg.TTL {
		return ch.newest
	}
	return nil
}
