package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/routing"
)

// Question is a call of our own to a model, on somebody's behalf.
type Question struct {
	Purpose             string // what it is for, such as "extractor"
	Tenant, Agent, User string // whose it is

	Model        string // a name in the catalogue
	Instructions string
	Text         string // what a person wrote
}

// Reply is what a model says to a question.
type Reply struct {
	Text string
	USD  *float64 // what the call cost, nil when that isn't known; also of a call that failed
}

// Ask puts a question to a model with the upstream's own key, and returns what
// it says. Each call has a row in the ledger, as a background call of process
// type cortex. The context ends it.
func (s *Server) Ask(ctx context.Context, q Question) (Reply, error) {
	m, ok := s.cfg.Catalogue.Find(q.Model)
	if !ok {
		return Reply{}, fmt.Errorf("asking %s: no such model", q.Model)
	}
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	body, err := json.Marshal(struct {
		Model    string    `json:"model"`
		Messages []message `json:"messages"`
	}{m.ID, []message{{"system", q.Instructions}, {"user", q.Text}}})
	if err != nil {
		return Reply{}, fmt.Errorf("asking %s: %w", q.Model, err)
	}

	x := &exchange{s: s, start: time.Now(), at: s.cfg.Clock(), id: newID(), human: -1}
	answer, status, reported, err := x.ask(ctx, s.upstreams[m.Upstream], "/chat/completions", body)
	if err == nil {
		x.answer.Body(answer)
	}
	if err = x.book(q, m, status, reported, err); err != nil {
		return Reply{USD: x.entry.Cost}, fmt.Errorf("asking %s: %w", q.Model, err)
	}
	return Reply{x.answer.Text(), x.entry.Cost}, nil
}

// book writes a call of our own into the ledger. It returns the call's error, or
// what its answer says of one.
func (x *exchange) book(q Question, m *routing.Model, status int, reported *float64, err error) error {
	x.entry = ledger.Entry{
		ID: x.id, At: x.at, Tenant: q.Tenant, Agent: q.Agent, User: q.User, ProcessType: "cortex", Background: q.Purpose,
		RequestedModel: m.Name, RoutedModel: m.Name, AnsweredModel: kept(x.answer.Model), Outcome: ledger.OutcomeOK, Status: status, Total: time.Since(x.start),
	}
	switch {
	case err != nil:
		x.entry.Outcome, _ = upstreamError(err)
	case status >= 400 || x.answer.Failed:
		x.entry.Outcome, err = ledger.OutcomeUpstreamError, fmt.Errorf("status %d", status)
	}
	x.entry.Usage, x.entry.UsageKnown = ledger.ParseUsage(x.answer.Usage)
	if reported == nil {
		reported = ownFigure(x.answer.Usage)
	}
	ledger.Settle(&x.entry, m.Price, nil, reported)
	x.s.cfg.Ledger.Record(x.entry)
	x.measure()
	return err
}

// ask sends a body and reads the answer.
func (x *exchange) ask(ctx context.Context, u *upstream, path string, body []byte) (answer []byte, status int, reported *float64, err error) {
	defer context.AfterFunc(ctx, x.cancel.cancel)()
	req := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(req)
	req.Header.SetMethod(fasthttp.MethodPost)
	req.Header.SetContentType("application/json")
	u.address(req, path)
	req.SetBodyRaw(body)
	x.sent = time.Now()
	resp, err := u.do(req, &x.cancel)
	if err != nil {
		return nil, 0, nil, err
	}
	defer resp.Close()
	answer, err = readAnswer(resp)
	if err != nil {
		if x.cancel.cancelled() {
			err = errCancelled
		}
		return nil, 0, nil, err
	}
	return answer, resp.Header.StatusCode(), reportedCost(&resp.Header), nil
}
