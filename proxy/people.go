package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/understudy-ai/understudy/ambient"
	"github.com/understudy-ai/understudy/internal/chat"
)

// People is what the admin API does to the people that are known.
type People interface {
	Humans(ctx context.Context, tenant, find string, limit int, cursor string) (ambient.HumanPage, error)
	Human(ctx context.Context, tenant, id string) (ambient.Human, error)
	Link(ctx context.Context, tenant, id, to string) (ambient.Human, error)
	Unlink(ctx context.Context, tenant, id string) (ambient.Human, error)
	Backfill(context.Context, ambient.Scope, []ambient.Uttered) (kept int, err error)
	Transcript(context.Context, ambient.Scope) (ambient.Transcript, error)
	DropTranscript(context.Context, ambient.Scope) (int64, error)
	EraseUser(ctx context.Context, tenant, user, agent string) (ambient.Erased, error)
}

// routePeople serves the part of the admin API that is about people.
func (s *Server) routePeople(api fiber.Router) {
	api.Get("/humans", s.listHumans)
	api.Get("/humans/:id", s.human)
	api.Post("/humans/:id/link", s.linkHuman)
	api.Delete("/humans/:id/link", s.unlinkHuman)
	api.Post("/channels/:id/backfill", s.backfill)
	api.Get("/channels/:id/backfill", s.transcript)
	api.Delete("/channels/:id/backfill", s.dropTranscript)
}

// listHumans is GET /api/humans?limit=&cursor=&q=&tenant=.
func (s *Server) listHumans(c *fiber.Ctx) error {
	limit, err := strconv.Atoi(c.Query("limit", "50"))
	if err != nil {
		return badQuery("limit", "limit takes a number.")
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	page, err := s.cfg.People.Humans(ctx, adminTenant(c), query(c, "q", ""), limit, query(c, "cursor", ""))
	if err != nil {
		return peopleError(err)
	}
	return c.JSON(page)
}

// human is GET /api/humans/{id}?tenant=.
func (s *Server) human(c *fiber.Ctx) error {
	return s.oneHuman(c, func(ctx context.Context, id string) (ambient.Human, error) {
		return s.cfg.People.Human(ctx, adminTenant(c), id)
	})
}

// linkHuman is POST /api/humans/{id}/link?tenant= with {"to": id}.
func (s *Server) linkHuman(c *fiber.Ctx) error {
	body, err := readBody(c.Context(), nil, s.cfg.Limits.BodyBytes)
	if err != nil {
		return err
	}
	var in struct{ To string }
	if err := json.Unmarshal(body, &in); err != nil || in.To == "" {
		return &chat.Error{Status: 400, Code: chat.CodeInvalidJSON, Message: "The body takes a JSON object with to, the id of another human."}
	}
	return s.oneHuman(c, func(ctx context.Context, id string) (ambient.Human, error) {
		return s.cfg.People.Link(ctx, adminTenant(c), id, in.To)
	})
}

// unlinkHuman is DELETE /api/humans/{id}/link?tenant=.
func (s *Server) unlinkHuman(c *fiber.Ctx) error {
	return s.oneHuman(c, func(ctx context.Context, id string) (ambient.Human, error) {
		return s.cfg.People.Unlink(ctx, adminTenant(c), id)
	})
}

// oneHuman answers with what a call about the path's human returns.
func (s *Server) oneHuman(c *fiber.Ctx, call func(context.Context, string) (ambient.Human, error)) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	h, err := call(ctx, id)
	if err != nil {
		return peopleError(err)
	}
	return c.JSON(h)
}

// peopleError words what the caller of the admin API can mend.
func peopleError(err error) error {
	switch {
	case errors.Is(err, ambient.ErrNotFound):
		return &chat.Error{Status: 404, Code: chat.CodeNotFound, Message: "No human of this tenant has this id; GET /api/humans lists them."}
	case errors.Is(err, ambient.ErrLink), errors.Is(err, ambient.ErrCursor):
		return badQuery("", err.Error()+".")
	}
	return err
}
