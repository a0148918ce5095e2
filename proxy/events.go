package proxy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/understudy-ai/understudy/ambient"
	"github.com/understudy-ai/understudy/internal/chat"
)

// maxEvents bounds the events of one call.
const maxEvents = 1000

// futureEvents is how far ahead of ours another clock may be.
const futureEvents = 24 * time.Hour

// addEvents is POST /api/events?tenant= with one event or an array of them.
func (s *Server) addEvents(c *fiber.Ctx) error {
	body, err := readBody(c.Context(), nil, s.cfg.Limits.BodyBytes)
	if err != nil {
		return err
	}
	posted, many, err := parseEvents(body, adminTenant(c), s.cfg.Clock(), s.cfg.PrivateChannel)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	results, err := s.cfg.Ambient.Record(ctx, posted)
	if err != nil {
		return err
	}
	if !many {
		return c.JSON(results[0])
	}
	return c.JSON(fiber.Map{"results": results})
}

// parseEvents reads the body of a call that posts events; many is true for an
// array. hides says which channels are private whatever an event says; nil: none.
// The error is a *chat.Error that names the field.
func parseEvents(body []byte, tenant string, now time.Time, hides func(id, name string) bool) (posted []ambient.Posted, many bool, err error) {
	body = bytes.TrimSpace(body)
	list := []json.RawMessage{body}
	if many = len(body) > 0 && body[0] == '['; many {
		if err := json.Unmarshal(body, &list); err != nil {
			return nil, true, &chat.Error{Status: 400, Code: chat.CodeInvalidJSON, Message: "The body is no JSON array of events."}
		}
	}
	if len(list) == 0 || len(list) > maxEvents {
		return nil, many, badQuery("", fmt.Sprintf("An array takes 1 to %d events.", maxEvents))
	}
	for i, raw := range list {
		at := ""
		if many {
			at = "[" + strconv.Itoa(i) + "]."
		}
		p, err := parseEvent(raw, at, tenant, now, hides)
		if err != nil {
			return nil, many, err
		}
		posted = append(posted, p)
	}
	return posted, many, nil
}

// parseEvent reads one event; at is what stands before the names of its fields.
func parseEvent(raw []byte, at, tenant string, now time.Time, hides func(id, name string) bool) (p ambient.Posted, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return p, &chat.Error{
			Status: 400, Code: chat.CodeInvalidJSON, Param: strings.TrimSuffix(at, "."),
			Message: "An event is a JSON object with summary and, as far as known, agent, user, name, channel, private, type, importance, session and at.",
		}
	}
	r := eventReader{fields: fields, at: at}
	e := &p.Event
	e.Summary, e.Name, e.Session = r.text("summary"), r.text("name"), r.text("session")
	e.Type = ambient.EventType(r.text("type"))
	agent, user, channel := r.text("agent"), r.text("user"), r.text("channel")
	var private bool
	r.read("private", &private, "a boolean")
	importance := 1.0
	if r.read("importance", &importance, "a number") {
		e.Importance = importance
	}
	var when time.Time
	if r.read("at", &when, "an RFC 3339 time") {
		e.At = when
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) { // that are left
		r.fail(fmt.Sprintf("%.40s", name), "no field of an event has this name")
	}
	if r.err != nil {
		return p, r.err
	}
	r.check(e, importance, now)
	private = private || hides != nil && channel != "" && hides(channel, "")
	scope, err := ambient.NewScope(tenant, cmp.Or(agent, "default"), user, channel, private)
	if err != nil {
		r.fail("agent", err.Error())
	}
	p.Scope = scope
	if r.err != nil { // not a nil error in an interface
		return p, r.err
	}
	return p, nil
}

// eventReader takes fields from an event and keeps the first problem.
type eventReader struct {
	fields map[string]json.RawMessage
	at     string
	err    error
}

// read takes a field that is there, and null for one that isn't.
func (r *eventReader) read(name string, into any, what string) bool {
	raw, ok := r.fields[name]
	delete(r.fields, name)
	if !ok || string(raw) == "null" {
		return false
	}
	if err := json.Unmarshal(raw, into); err != nil {
		r.fail(name, "it takes "+what)
		return false
	}
	return true
}

func (r *eventReader) text(name string) (text string) {
	r.read(name, &text, "a string")
	return text
}

func (r *eventReader) fail(name, problem string) {
	if r.err == nil {
		r.err = &chat.Error{Status: 400, Code: chat.CodeInvalidQuery, Param: r.at + name, Message: r.at + name + ": " + problem + "."}
	}
}

// check holds that the values make sense.
func (r *eventReader) check(e *ambient.Event, importance float64, now time.Time) {
	if strings.TrimSpace(e.Summary) == "" {
		r.fail("summary", "it must say what happened")
	}
	if e.Type != "" && !e.Type.Known() {
		r.fail("type", fmt.Sprintf("%.40q is no type of event; it takes %s", e.Type, eventTypes()))
	}
	if !(importance > 0 && importance <= 1) {
		r.fail("importance", "it takes a number above 0, at most 1")
	}
	if e.At.After(now.Add(futureEvents)) || !e.At.IsZero() && e.At.Year() < 1970 {
		r.fail("at", "it takes a time since 1970 that is not to come")
	}
}

// eventTypes lists the types for a person to read.
func eventTypes() string {
	var names []string
	for _, t := range ambient.EventTypes() {
		names = append(names, string(t))
	}
	return strings.Join(names, ", ")
}

// listEvents is GET /api/events?agent=&user=&channel=&type=&since=&until=&limit=&cursor=&tenant=.
func (s *Server) listEvents(c *fiber.Ctx) error {
	f := ambient.Filter{
		User: query(c, "user", ""), Channel: query(c, "channel", ""), Type: ambient.EventType(query(c, "type", "")), Cursor: query(c, "cursor", ""),
	}
	if f.Type != "" && !f.Type.Known() {
		return badQuery("type", "type takes "+eventTypes()+".")
	}
	var err error
	if f.Since, err = queryTime(c, "since"); err != nil {
		return err
	}
	if f.Until, err = queryTime(c, "until"); err != nil {
		return err
	}
	if f.Limit, err = strconv.Atoi(c.Query("limit", "50")); err != nil {
		return badQuery("limit", "limit takes a number.")
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	page, err := s.cfg.Ambient.Events(ctx, adminTenant(c), query(c, "agent", "default"), f)
	if errors.Is(err, ambient.ErrCursor) {
		return badQuery("cursor", "cursor takes what next_cursor said.")
	}
	if err != nil {
		return err
	}
	return c.JSON(page)
}
