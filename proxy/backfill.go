package proxy

import (
	"context"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/understudy-ai/understudy/ambient"
	"github.com/understudy-ai/understudy/internal/chat"
)

// backfill is POST /api/channels/{id}/backfill?agent=&private=&tenant= with what
// was said in the channel before.
func (s *Server) backfill(c *fiber.Ctx) error {
	scope, err := s.channelScope(c)
	if err != nil {
		return err
	}
	body, err := readBody(c.Context(), nil, s.cfg.Limits.BodyBytes)
	if err != nil {
		return err
	}
	said, err := ambient.ParseTranscript(body)
	if err != nil {
		return &chat.Error{Status: 400, Code: chat.CodeInvalidJSON, Message: err.Error() + ". A message is {\"name\", \"role\", \"content\", \"at\"}; at is RFC 3339."}
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	kept, err := s.cfg.People.Backfill(ctx, scope, said)
	if err != nil {
		return err
	}
	return c.JSON(fiber.Map{"kept": kept, "left_out": len(said) - kept})
}

// transcript is GET /api/channels/{id}/backfill?agent=&tenant=.
func (s *Server) transcript(c *fiber.Ctx) error {
	scope, err := s.channelScope(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	t, err := s.cfg.People.Transcript(ctx, scope)
	if err != nil {
		return err
	}
	return c.JSON(t)
}

// dropTranscript is DELETE /api/channels/{id}/backfill?agent=&tenant=.
func (s *Server) dropTranscript(c *fiber.Ctx) error {
	scope, err := s.channelScope(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	n, err := s.cfg.People.DropTranscript(ctx, scope)
	if err != nil {
		return err
	}
	return c.JSON(fiber.Map{"deleted": n})
}

// channelScope is the path's channel with the query's agent.
func (s *Server) channelScope(c *fiber.Ctx) (ambient.Scope, error) {
	id, err := pathID(c)
	if err != nil {
		return ambient.Scope{}, err
	}
	private, err := strconv.ParseBool(c.Query("private", "false"))
	if err != nil {
		return ambient.Scope{}, badQuery("private", "private takes true or false.")
	}
	if hides := s.cfg.PrivateChannel; hides != nil {
		private = private || hides(id, "")
	}
	scope, err := ambient.NewScope(adminTenant(c), query(c, "agent", "default"), "", id, private)
	if err != nil {
		return scope, badQuery("", err.Error()+".")
	}
	return scope, nil
}
