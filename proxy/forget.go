package proxy

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/understudy-ai/understudy/ambient"
	"github.com/understudy-ai/understudy/assemble"
)

// forgetTimeout bounds a forgetting. It has to go through, also where there is
// much to forget in a large store, and a part of it alone is of no use.
const forgetTimeout = 5 * time.Minute

// forgetUser is DELETE /api/users/{id}?agent=&tenant=; without an agent
// everywhere. What conversations of that user were told ends, too, and so does
// what others were told of them.
func (s *Server) forgetUser(c *fiber.Ctx) error {
	user, err := pathID(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), forgetTimeout)
	defer cancel()
	tenant, agent := adminTenant(c), query(c, "agent", "")
	forgotten := 0
	if s.cfg.Memories != nil {
		if forgotten, err = s.cfg.Memories.ForgetUser(ctx, tenant, user, agent); err != nil {
			return memoryError(err)
		}
	}
	var erased ambient.Erased
	if s.cfg.People != nil {
		erased, err = s.cfg.People.EraseUser(ctx, tenant, user, agent)
	}
	s.forgets.Add(1)
	if err = errors.Join(err, s.drop(ctx, ToldOf(tenant, user, agent, erased))); err != nil {
		return err
	}
	return c.JSON(fiber.Map{"forgotten": forgotten, "erased": erased.Rows})
}

// ToldOfMemories reports whether a conversation was told of one of some memories,
// or may have been: by a line that names it, or by words that were made of many
// things.
func ToldOfMemories(tenant, agent string, ids []string) func(assemble.Conversation, []string) bool {
	return func(whose assemble.Conversation, shown []string) bool {
		return whose.Tenant == tenant && whose.Agent == agent && slices.ContainsFunc(shown, func(line string) bool {
			aside, ok := strings.CutPrefix(line, assemble.Aside)
			return ok && ambient.MadeOfMany(aside) || slices.ContainsFunc(ids, func(id string) bool {
				return id != "" && (line == id || ok && strings.Contains(aside, id))
			})
		})
	}
}

// ToldOf reports whether a conversation was told what must be forgotten of a
// user: it is theirs, or shows what was erased of them. Its IDs are those that
// assembly knows of.
func ToldOf(tenant, user, agent string, erased ambient.Erased) func(assemble.Conversation, []string) bool {
	return func(whose assemble.Conversation, shown []string) bool {
		if whose.Tenant != tenant || agent != "" && whose.Agent != agent {
			return false
		}
		lines := make([]string, 0, len(shown))
		for _, id := range shown {
			if line, ok := strings.CutPrefix(id, assemble.Aside); ok {
				lines = append(lines, line)
			}
		}
		session, _, _ := strings.Cut(whose.Session, " ") // where it was held isn't part of it
		return whose.User == user || erased.Told(session, lines)
	}
}
