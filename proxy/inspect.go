package proxy

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/memory"
)

// Inspection shows what a model was given, block by block.
type Inspection struct {
	Before Texts `json:"before"` // as the client sent it
	After  Texts `json:"after"`  // as it went upstream
	// Blocks are the parts of After, in the order of the request. Every byte
	// that was added is in one of them, but for the white space between them.
	Blocks []Block `json:"blocks"`
	// BeforeBlocks are the parts of Before.
	BeforeBlocks []Block         `json:"before_blocks"`
	Debug        *assemble.Debug `json:"debug,omitempty"` // nil when assembly had no part in it
}

// Block is a part of one text. Part is system, earlier or user; Start and End
// are byte offsets into that text.
type Block struct {
	assemble.Block
	// Message is the index of the message in the request, as it came or as it
	// went upstream.
	Message int `json:"message"`
}

// Texts are the system prompt and the newest human message of a request, and
// what was added to the human messages before. Secrets in them are redacted.
type Texts struct {
	System  string    `json:"system"`
	Earlier []Earlier `json:"earlier,omitempty"`
	User    string    `json:"user"`
}

// Earlier is what a human message that is not the newest was sent with again,
// before its own words.
type Earlier struct {
	Message int    `json:"message"` // its index in the request as it went upstream
	Text    string `json:"text"`
}

// inspection works out what a captured request looked like. It is nil when no
// text was kept.
func (c *capture) inspection() *Inspection {
	if c == nil || !c.enabled {
		return nil
	}
	out := &Inspection{Before: Texts{System: memory.Redact(c.system), User: memory.Redact(c.said)}, Blocks: []Block{}}
	out.After = out.Before
	var added assemble.Assembled
	var prefixes []assemble.Prefix
	if c.planned {
		account := c.plan.Account()
		out.Debug = &account.Debug
		if c.inserted {
			added, prefixes = account, c.plan.Prefixes
			added.SystemBlock, added.UserPrefix = c.plan.SystemBlock, c.plan.UserPrefix
		}
	}
	out.system(c, &added)
	for i := range prefixes {
		if at := c.humans[prefixes[i].Turn]; at != c.human {
			out.earlier(at+c.created(), &prefixes[i])
		}
	}
	out.user(c, &added)
	system, user := page{part: "system"}, page{part: "user", message: c.human}
	system.client("System prompt", "contract", "static", out.Before.System)
	user.client("User message", "runtime", "volatile", out.Before.User)
	out.BeforeBlocks = append(append([]Block{}, system.blocks...), user.blocks...)
	return out
}

// created is 1 where the system prompt is a message that the client's request
// didn't have, else 0.
func (c *capture) created() int {
	if c.inserted && c.plan.SystemBlock != "" && !c.led {
		return 1
	}
	return 0
}

func (out *Inspection) system(c *capture, added *assemble.Assembled) {
	p := page{part: "system"}
	if added.SystemBlock == "" {
		p.client("System prompt", "contract", "static", out.Before.System)
	} else {
		p.client("System prompt", "contract", "static", memory.Redact(assemble.Strip(c.system)))
		p.ours(added.SystemBlock, added.Blocks, assemble.PartSystem)
		out.After.System = p.text.String()
	}
	out.Blocks = append(out.Blocks, p.blocks...)
}

func (out *Inspection) earlier(message int, prefix *assemble.Prefix) {
	p := page{part: "earlier", message: message}
	p.ours(prefix.Text, prefix.Blocks(), assemble.PartUserPrefix)
	out.After.Earlier = append(out.After.Earlier, Earlier{message, p.text.String()})
	out.Blocks = append(out.Blocks, p.blocks...)
}

func (out *Inspection) user(c *capture, added *assemble.Assembled) {
	p := page{part: "user", message: c.human + c.created()}
	if added.UserPrefix == "" {
		p.client("User message", "runtime", "volatile", out.Before.User)
	} else {
		own := memory.Redact(assemble.Strip(c.said))
		if 0 < c.ahead && c.ahead < len(c.said) {
			p.client("User message", "runtime", "volatile", memory.Redact(c.said[:c.ahead]))
			own = memory.Redact(strings.TrimPrefix(c.said[c.ahead:], "\n"))
		}
		p.ours(added.UserPrefix, added.Blocks, assemble.PartUserPrefix)
		p.client("User message", "runtime", "volatile", own)
		out.After.User = p.text.String()
	}
	out.Blocks = append(out.Blocks, p.blocks...)
}

// page is a text in the making, with its blocks.
type page struct {
	part    string
	message int
	text    strings.Builder
	blocks  []Block
}

func (p *page) separate() {
	if p.text.Len() > 0 {
		p.text.WriteString(assemble.Separator)
	}
}

// client adds what the client wrote.
func (p *page) client(name, layer, stability, text string) {
	if text == "" {
		return
	}
	p.separate()
	p.block(assemble.Block{Name: name, Layer: layer, Stability: stability, Source: "client"}, text)
}

// ours adds one of our texts, with the blocks that are its parts.
func (p *page) ours(text string, blocks []assemble.Block, part string) {
	p.separate()
	at := 0
	for _, b := range blocks {
		if b.Part == part {
			p.container(text[at:b.Start])
			p.block(b, memory.Redact(text[b.Start:b.End]))
			at = b.End
		}
	}
	p.container(text[at:])
}

// container adds what stands around the sections of ours: the lines that name
// the container, and the sentence that says what is data.
func (p *page) container(text string) {
	words := strings.Trim(text, "\n")
	if words == "" {
		p.text.WriteString(text)
		return
	}
	before, after, _ := strings.Cut(text, words)
	p.text.WriteString(before)
	p.block(assemble.Block{Name: "Container", Layer: "contract", Stability: "static", Source: "understudy"}, words)
	p.text.WriteString(after)
}

func (p *page) block(b assemble.Block, text string) {
	b.Part, b.Start = p.part, p.text.Len()
	p.text.WriteString(text)
	b.End, b.Chars, b.Tokens = p.text.Len(), utf8.RuneCountInString(text), assemble.EstimateTokens(text)
	p.blocks = append(p.blocks, Block{b, p.message})
}

// channelRow is a channel in a list.
type channelRow struct {
	ID            string    `json:"id"`
	Agent         string    `json:"agent"`
	User          string    `json:"user"`
	Session       string    `json:"session"`
	Model         string    `json:"model"`
	Requests      int       `json:"requests"`
	LastSeen      time.Time `json:"last_seen"`
	LastRequest   string    `json:"last_request_id"`
	HistoryLength int       `json:"history_length"`
}

// listChannels is GET /api/channels?tenant=: where requests came from lately.
func (s *Server) listChannels(c *fiber.Ctx) error {
	tenant := adminTenant(c)
	rows := []channelRow{}
	s.captures.mu.Lock()
	for key, ch := range s.captures.channels {
		if n := ch.newest; key.tenant == tenant && time.Since(n.at) <= s.captures.cfg.TTL {
			rows = append(rows, channelRow{
				ID: key.id, Agent: n.agent, User: n.user, Session: n.session, Model: n.model, Requests: ch.requests,
				LastSeen: n.at.UTC(), LastRequest: n.id, HistoryLength: n.messages,
			})
		}
	}
	s.captures.mu.Unlock()
	slices.SortFunc(rows, func(a, b channelRow) int {
		return cmp.Or(b.LastSeen.Compare(a.LastSeen), cmp.Compare(a.ID, b.ID))
	})
	return c.JSON(fiber.Map{"channels": rows})
}

// inspectChannel is GET /api/channels/inspect?channel_id=&tenant=: the prompt
// of the channel's newest request.
func (s *Server) inspectChannel(c *fiber.Ctx) error {
	id := query(c, "channel_id", "")
	if id == "" {
		return badQuery("channel_id", "channel_id takes the id of a channel; GET /api/channels lists them.")
	}
	found := s.captures.newest(adminTenant(c), id)
	if found == nil {
		return &chat.Error{Status: 404, Code: chat.CodeNotFound, Param: "channel_id", Message: "No request of this channel is kept; GET /api/channels lists those that are."}
	}
	answer := struct {
		SystemPrompt   string `json:"system_prompt"`
		TotalChars     int    `json:"total_chars"`
		HistoryLength  int    `json:"history_length"`
		CaptureEnabled bool   `json:"capture_enabled"`
		RequestID      string `json:"request_id"`
		Agent          string `json:"agent"`
		Model          string `json:"model"`
		*Inspection
	}{
		HistoryLength: found.messages, CaptureEnabled: found.enabled, RequestID: found.id, Agent: found.agent, Model: found.model, Inspection: found.inspection(),
	}
	if answer.Inspection != nil {
		answer.SystemPrompt = answer.After.System
		answer.TotalChars = utf8.RuneCountInString(answer.SystemPrompt)
	}
	return c.JSON(answer)
}
