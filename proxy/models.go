package proxy

import (
	"encoding/json"
	"slices"

	"github.com/gofiber/fiber/v2"
	"github.com/tidwall/gjson"
	"github.com/valyala/fasthttp"

	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/routing"
)

// virtualModel is an entry of the model list that stands for our choice.
type virtualModel struct {
	ID       string   `json:"id"`
	Object   string   `json:"object"`
	Created  int64    `json:"created"`
	OwnedBy  string   `json:"owned_by"`
	Context  int      `json:"context_window,omitempty"`
	Supports []string `json:"supports"`
}

// models lists the upstream's models with the virtual ones in front. An
// upstream's error passes through as it came.
func (s *Server) models(c *fiber.Ctx) error {
	ctx := c.Context()
	if _, err := s.cfg.Auth.caller(&ctx.Request.Header); err != nil {
		return err
	}
	body, resp, err := s.fetchModels(ctx)
	if err != nil {
		outcome, e := upstreamError(err)
		s.countModels(outcome)
		return e
	}
	copyHeaders(&resp.Header, &ctx.Response.Header)
	if list := gjson.GetBytes(body, "data"); s.cfg.Router != nil && resp.Header.StatusCode() == 200 && list.IsArray() && list.Index > 0 {
		s.seenListed(list)
		body = s.addVirtual(body, list)
	}
	ctx.Response.SetBodyRaw(body)
	outcome := ledger.OutcomeOK
	if resp.Header.StatusCode() >= 400 {
		outcome = ledger.OutcomeUpstreamError
	}
	s.countModels(outcome)
	return nil
}

func (s *Server) countModels(outcome string) {
	s.cfg.Metrics.Requests.WithLabelValues("models", "", "", outcome).Inc()
}

func (s *Server) fetchModels(ctx *fasthttp.RequestCtx) ([]byte, *response, error) {
	u := s.upstreams[s.cfg.Default]
	req := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(req)
	forwardHeaders(&ctx.Request.Header, &req.Header)
	req.Header.Del(fasthttp.HeaderAcceptEncoding)
	u.address(req, "/models"+queryString(ctx))
	var cancel canceller
	stop := s.watches.soon(ctx.Conn(), cancel.cancel)
	defer stop()
	resp, err := u.do(req, &cancel)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Close()
	body, err := readAnswer(resp)
	return body, resp, err
}

func (s *Server) addVirtual(body []byte, list gjson.Result) []byte {
	names := []string{"auto"}
	for _, p := range s.cfg.Router.Profiles() {
		names = append(names, "auto:"+p)
	}
	var entries []byte
	for i, name := range names {
		entry, err := json.Marshal(s.virtual(name))
		if err != nil {
			return body
		}
		if entries = append(entries, entry...); i < len(names)-1 || len(list.Array()) > 0 {
			entries = append(entries, ',')
		}
	}
	at := list.Index + 1
	out, err := chat.Splice(body, []chat.Edit{{At: chat.Span{Start: at, End: at}, New: entries}})
	if err != nil {
		return body
	}
	return out
}

// virtual describes a virtual model by its profile's models: the smallest
// window, since the choice may fall on any of them, and every ability that one
// of them has, since routing looks for it.
func (s *Server) virtual(name string) virtualModel {
	profile, _ := routing.Virtual(name)
	v := virtualModel{ID: name, Object: "model", Created: s.started.Unix(), OwnedBy: "understudy", Supports: []string{}}
	for _, m := range s.cfg.Router.Models(profile) {
		if m.Context > 0 && (v.Context == 0 || m.Context < v.Context) {
			v.Context = m.Context
		}
		v.Supports = append(v.Supports, m.Supports...)
	}
	slices.Sort(v.Supports)
	v.Supports = slices.Compact(v.Supports)
	return v
}
