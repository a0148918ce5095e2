package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/ledger"
)

// adminTimeout bounds a query of the admin API.
const adminTimeout = 10 * time.Second

// maxRows bounds a list.
const maxRows = 1000

// adminTenant is whose rows an admin call sees.
func adminTenant(c *fiber.Ctx) string { return query(c, "tenant", "default") }

// query is a parameter of the call, a copy: fiber's own strings end with the
// handler, and a store may keep what it is given.
func query(c *fiber.Ctx, name, absent string) string { return strings.Clone(c.Query(name, absent)) }

// pathID returns the id that ends the path, which may be escaped there: a user's
// is whatever the caller chose.
func pathID(c *fiber.Ctx) (string, error) {
	id, err := url.PathUnescape(c.Params("id"))
	if err != nil {
		return "", badQuery("id", "The id in the path is not properly escaped.")
	}
	return strings.Clone(id), nil
}

// stats sums up requests: GET /api/stats?since=&until=&agent=&group_by=&tenant=.
// [ledger.ParseTime] says how times are written.
func (s *Server) stats(c *fiber.Ctx) error {
	q := ledger.StatsQuery{Tenant: adminTenant(c), Agent: query(c, "agent", ""), GroupBy: query(c, "group_by", "")}
	var err error
	if q.Since, err = queryTime(c, "since"); err != nil {
		return err
	}
	if q.Until, err = queryTime(c, "until"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	stats, err := s.cfg.Ledger.Stats(ctx, q)
	if errors.Is(err, ledger.ErrGroupBy) {
		return badQuery("group_by", err.Error()+".")
	}
	if err != nil {
		return err
	}
	return c.JSON(stats)
}

// queryTime reads an instant; the zero time when it is absent.
func queryTime(c *fiber.Ctx, name string) (time.Time, error) {
	v := c.Query(name)
	if v == "" {
		return time.Time{}, nil
	}
	t, err := ledger.ParseTime(v, time.Now())
	if err != nil {
		return t, badQuery(name, fmt.Sprintf("%s: %v.", name, err))
	}
	return t, nil
}

// export streams the ledger: GET /api/ledger/export?since=&until=&agent=&format=&tenant=.
func (s *Server) export(c *fiber.Ctx) error {
	sel := ledger.Selection{Tenant: adminTenant(c), Agent: query(c, "agent", "")}
	var err error
	if sel.Since, err = queryTime(c, "since"); err != nil {
		return err
	}
	if sel.Until, err = queryTime(c, "until"); err != nil {
		return err
	}
	write, kind := ledger.WriteJSONL, "application/jsonl"
	switch c.Query("format", "jsonl") {
	case "jsonl":
	case "csv":
		write, kind = ledger.WriteCSV, "text/csv; charset=utf-8"
	default:
		return badQuery("format", "format takes jsonl or csv.")
	}
	c.Set(fiber.HeaderContentType, kind)
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		defer s.cfg.Metrics.InFlight.Dec() // a stream is over when it is written
		if err := write(w, s.cfg.Ledger.Entries(context.Background(), sel)); err != nil {
			s.cfg.Logger.Warn("exporting the ledger ended early", "error", err)
		}
	})
	return nil
}

// requests lists the newest requests: GET /api/requests?limit=&tenant=.
func (s *Server) requests(c *fiber.Ctx) error {
	limit, err := strconv.Atoi(c.Query("limit", "100"))
	if err != nil || limit < 1 || limit > maxRows {
		return badQuery("limit", fmt.Sprintf("limit takes a number from 1 to %d.", maxRows))
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	rows, err := s.cfg.Ledger.Recent(ctx, adminTenant(c), limit)
	if err != nil {
		return err
	}
	return c.JSON(fiber.Map{"items": rows})
}

// request is one request's account: GET /api/requests/{id}?tenant=.
func (s *Server) request(c *fiber.Ctx) error {
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	e, err := s.cfg.Ledger.Get(ctx, adminTenant(c), strings.Clone(c.Params("id")))
	if errors.Is(err, ledger.ErrNotFound) {
		return &chat.Error{Status: 404, Code: chat.CodeNotFound, Message: "No request has this id. An answered request shows up within 100 ms."}
	}
	if err != nil {
		return err
	}
	return c.JSON(struct {
		ledger.Entry
		*Inspection // absent when nothing is kept of it
	}{e, s.captures.find(e.Tenant, e.ID).inspection()})
}
