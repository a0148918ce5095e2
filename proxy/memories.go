package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/understudy-ai/understudy/ambient"
	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/memory"
)

// Memories is what the admin API does to the memory store.
type Memories interface {
	List(context.Context, memory.Scope, memory.Filter) (memory.Page, error)
	Add(context.Context, memory.Scope, memory.NewItem) (memory.Outcome, error)
	Forget(ctx context.Context, scope memory.Scope, id string) (memory.Forgotten, error)
	ForgetUser(ctx context.Context, tenant, user, agent string) (int, error)
	Users(ctx context.Context, tenant, user, agent string, limit int, cursor string) (memory.UserPage, error)
	Search(context.Context, memory.Scope, memory.Query) ([]memory.Item, error)
	Import(context.Context, memory.Scope, io.Reader, memory.ImportOptions) (memory.ImportReport, error)
	Export(context.Context, memory.Scope) iter.Seq2[memory.Row, error]
}

// routeMemories serves the memory part of the admin API.
func (s *Server) routeMemories(api fiber.Router) {
	api.Get("/memories", s.listMemories)
	api.Post("/memories", s.addMemory)
	api.Post("/memories/search", s.searchMemories)
	api.Post("/memories/import", s.importMemories)
	api.Get("/memories/export", s.exportMemories)
	api.Delete("/memories/:id", s.forgetMemory)
	api.Get("/users", s.listUsers)
	api.Get("/users/:id", s.listUsers)
}

// listMemories is GET /api/memories?agent=&user=&type=&q=&limit=&cursor=&tenant=.
func (s *Server) listMemories(c *fiber.Ctx) error {
	scope, err := queryScope(c)
	if err != nil {
		return err
	}
	limit, err := strconv.Atoi(c.Query("limit", "50"))
	if err != nil {
		return badQuery("limit", "limit takes a number.")
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	page, err := s.cfg.Memories.List(ctx, scope, memory.Filter{
		Type: memory.Type(query(c, "type", "")), Text: query(c, "q", ""), Limit: limit, Cursor: query(c, "cursor", ""),
	})
	if err != nil {
		return memoryError(err)
	}
	return c.JSON(page)
}

// addMemory is POST /api/memories?tenant= with {"agent","user","type","content","subject","attribute"}.
func (s *Server) addMemory(c *fiber.Ctx) error {
	body, err := readBody(c.Context(), nil, s.cfg.Limits.BodyBytes)
	if err != nil {
		return err
	}
	var in struct{ Agent, User, Type, Content, Subject, Attribute string }
	if err := json.Unmarshal(body, &in); err != nil {
		return &chat.Error{Status: 400, Code: chat.CodeInvalidJSON, Message: "The body takes a JSON object with agent, user, type, content, subject and attribute, all of them strings."}
	}
	scope, err := memory.NewScope(adminTenant(c), cmp.Or(in.Agent, "default"), in.User)
	if err != nil {
		return memoryError(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	outcome, err := s.cfg.Memories.Add(ctx, scope, memory.NewItem{
		Type: memory.Type(in.Type), Content: in.Content, Subject: in.Subject, Attribute: in.Attribute,
	})
	if err != nil {
		return memoryError(err)
	}
	return c.JSON(outcome)
}

// searchMemories is POST /api/memories/search?tenant= with
// {"agent","user","query","k","profile","gate"}.
func (s *Server) searchMemories(c *fiber.Ctx) error {
	body, err := readBody(c.Context(), nil, s.cfg.Limits.BodyBytes)
	if err != nil {
		return err
	}
	in := struct {
		Agent, User, Query, Profile string
		K                           int
		Gate                        bool
	}{Agent: "default", Gate: true}
	if err := json.Unmarshal(body, &in); err != nil {
		return &chat.Error{Status: 400, Code: chat.CodeInvalidJSON, Message: "The body takes a JSON object with agent, user, query and profile, which are strings, k, a whole number, and gate, a boolean."}
	}
	if in.K < 0 {
		return badQuery("k", "k takes a number from 1; 0 means 10.")
	}
	scope, err := memory.NewScope(adminTenant(c), cmp.Or(in.Agent, "default"), in.User)
	if err != nil {
		return memoryError(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	items, err := s.cfg.Memories.Search(ctx, scope, memory.Query{Text: in.Query, Limit: in.K, Profile: in.Profile, NoGate: !in.Gate})
	if err != nil {
		return memoryError(err)
	}
	if items == nil {
		items = []memory.Item{}
	}
	return c.JSON(fiber.Map{"items": items})
}

// forgetMemory is DELETE /api/memories/{id}?agent=&user=&tenant=. Conversations
// that were told of it are told nothing from now on.
func (s *Server) forgetMemory(c *fiber.Ctx) error {
	scope, err := queryScope(c)
	if err != nil {
		return err
	}
	id, err := pathID(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), forgetTimeout)
	defer cancel()
	tenant, agent := adminTenant(c), query(c, "agent", "default")
	gone, err := s.cfg.Memories.Forget(ctx, scope, id)
	if err != nil {
		return memoryError(err)
	}
	told := []string{id, gone.SupersededBy}
	if s.cfg.Ambient != nil {
		var others []string
		others, err = s.cfg.Ambient.EraseMade(ctx, tenant, agent, ambient.Forgotten(gone))
		told = append(told, others...)
	}
	s.forgets.Add(1)
	// The memory is gone: whoever asks again is told so, and nothing more.
	if err = errors.Join(err, s.drop(ctx, ToldOfMemories(tenant, agent, told))); err != nil {
		return err
	}
	return c.JSON(fiber.Map{"forgotten": 1})
}

// listUsers is GET /api/users?agent=&limit=&cursor=&tenant=, and with an id that
// user alone.
func (s *Server) listUsers(c *fiber.Ctx) error {
	limit, err := strconv.Atoi(c.Query("limit", "50"))
	if err != nil {
		return badQuery("limit", "limit takes a number.")
	}
	user, err := pathID(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	page, err := s.cfg.Memories.Users(ctx, adminTenant(c), user, query(c, "agent", ""), limit, query(c, "cursor", ""))
	if err != nil {
		return memoryError(err)
	}
	return c.JSON(page)
}

// drop ends what conversations were told, and what is kept of it to look at.
func (s *Server) drop(ctx context.Context, match func(whose assemble.Conversation, memories []string) bool) error {
	s.captures.forget(func(c *capture) bool {
		whose := assemble.Conversation{Tenant: c.tenant, Agent: c.agent, User: c.user, Session: c.session}
		return c.enabled && match(whose, c.plan.MemoryIDs())
	})
	if s.cfg.Assembly == nil {
		return nil
	}
	_, err := s.cfg.Assembly.Sessions.Drop(ctx, match)
	return err
}

func queryScope(c *fiber.Ctx) (memory.Scope, error) {
	scope, err := memory.NewScope(adminTenant(c), query(c, "agent", "default"), query(c, "user", ""))
	if err != nil {
		return scope, memoryError(err)
	}
	return scope, nil
}

// memoryError words what the caller of the admin API can mend.
func memoryError(err error) error {
	switch {
	case errors.Is(err, memory.ErrNotFound):
		return &chat.Error{Status: 404, Code: chat.CodeNotFound, Message: "No memory in this scope has this id; agent and user say whose it is."}
	case errors.Is(err, memory.ErrScope), errors.Is(err, memory.ErrType), errors.Is(err, memory.ErrProfile), errors.Is(err, memory.ErrCursor):
		return badQuery("", err.Error()+".")
	}
	return err
}

func badQuery(param, message string) error {
	return &chat.Error{Status: 400, Code: chat.CodeInvalidQuery, Param: param, Message: message}
}
