package proxy

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/understudy-ai/understudy/ambient"
)

// This file has workers briefed before they begin.

// brief makes a worker's briefing when this is the request that it begins with,
// which waits for it. No failure of it is one of the request: the worker then
// knows what others know. The time comes on top of the smart steps' own, so the
// context returned is what is left for them.
func (x *exchange) brief(ctx context.Context) (context.Context, context.CancelFunc) {
	begins := len(x.humans) == 1 && x.newTurn() && !x.sideCall && !x.dry
	if x.who.context != "briefed" || !begins || x.s.cfg.Assembly == nil {
		return ctx, func() {}
	}
	scope, ok := x.ambientScope()
	if !ok {
		return ctx, func() {}
	}
	began := time.Now()
	result, err := x.briefing(scope)
	x.briefed = result
	took := time.Since(began)
	x.s.cfg.Metrics.Overhead.WithLabelValues("briefing").Observe(took.Seconds())
	x.trace.phase("briefing", began, err)
	if result != "" {
		x.s.cfg.Metrics.Briefings.WithLabelValues(result).Inc()
	}
	if err != nil {
		x.s.cfg.Metrics.FailOpen.WithLabelValues("ambient", "briefing").Inc()
		if x.s.steps.due("briefing") {
			x.s.cfg.Logger.Warn("a worker begins without its briefing", "id", x.id, "error", err)
		}
	}
	rest := x.s.cfg.Limits.SmartBudget
	if until, ok := ctx.Deadline(); ok {
		rest = time.Until(until) + took
	}
	return context.WithTimeout(context.Background(), rest)
}

func (x *exchange) briefing(scope ambient.Scope) (result string, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = ambient.BriefingFailed, panicked{p}
		}
	}()
	return x.s.cfg.Ambient.Brief(context.Background(), scope, x.moment(true))
}

// background is GET /api/background: the work that nobody waits for, and what it
// costs.
func (s *Server) background(c *fiber.Ctx) error {
	return c.JSON(s.cfg.Ambient.Background())
}
