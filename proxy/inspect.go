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
	// Blocks are the parts of After, in order. Part is system or user; Start
	// and End are byte offsets into that text.
	Blocks []assemble.Block `json:"blocks"`
	Debug  *assemble.Debug  `json:"debug,omitempty"` // nil when assembly had no part in it
}

// Texts are the system prompt and the newest human message of a request.
// Secrets in them are redacted.
type Texts struct {
	System string `json:"system"`
	User   string `json:"user"`
}

// inspection works out what a captured request looked like. It is nil when no
// text was kept.
func (c *capture) inspection() *Inspection {
	if c == nil || !c.enabled {
		return nil
	}
	out := &Inspection{Before: Texts{memory.Redact(c.system), memory.Redact(c.said)}}
	out.After = out.Before
	own := Texts{memory.Redact(assemble.Strip(c.system)), memory.Redact(assemble.Strip(c.said))}
	var added assemble.Assembled
	if c.planned {
		added = c.plan.Account()
		out.Debug = &added.Debug
		if !c.inserted {
			added = assemble.Assembled{}
		}
	}
	var system, user page
	if added.SystemBlock != "" {
		system.client("System prompt", "contract", "static", own.System)
		system.ours(added.SystemBlock, added.Blocks, assemble.PartSystem)
		out.After.System = system.text.String()
	} else {
		system.client("System prompt", "contract", "static", out.Before.System)
	}
	if added.UserPrefix != "" {
		if 0 < c.ahead && c.ahead < len(c.said) {
			user.client("User message", "runtime", "volatile", memory.Redact(c.said[:c.ahead]))
			own.User = memory.Redact(strings.TrimPrefix(c.said[c.ahead:], "\n"))
		}
		user.ours(added.UserPrefix, added.Blocks, assemble.PartUserPrefix)
		user.client("User message", "runtime", "volatile", own.User)
		out.After.User = user.text.String()
	} else {
		user.client("User message", "runtime", "volatile", out.Before.User)
	}
	for i := range system.blocks {
		system.blocks[i].Part = "system"
	}
	for i := range user.blocks {
		user.blocks[i].Part = "user"
	}
	out.Blocks = append(append([]assemble.Block{}, system.blocks...), user.blocks...)
	return out
}

// page is a text in the making, with its blocks.
type page struct {
	text   strings.Builder
	blocks []assemble.Block
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
			p.text.WriteString(text[at:b.Start])
			p.block(b, memory.Redact(text[b.Start:b.End]))
			at = b.End
		}
	}
	p.text.WriteString(text[at:])
}

func (p *page) block(b assemble.Block, text string) {
	b.Start = p.text.Len()
	p.text.WriteString(text)
	b.End, b.Chars, b.Tokens = p.text.Len(), utf8.RuneCountInString(text), assemble.EstimateTokens(text)
	p.blocks = append(p.blocks, b)
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
		Model          string `json:"model"`
		*Inspection
	}{
		HistoryLength: found.messages, CaptureEnabled: found.enabled, RequestID: found.id, Model: found.model, Inspection: found.inspection(),
	}
	if answer.Inspection != nil {
		answer.SystemPrompt = answer.After.System
		answer.TotalChars = utf8.RuneCountInString(answer.SystemPrompt)
	}
	return c.JSON(answer)
}
