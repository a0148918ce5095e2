package proxy

import (
	"context"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/valyala/fasthttp"

	"github.com/understudy-ai/understudy/routing"
)

// CheckModels asks each upstream for its models, for the start: configured ones
// that it does not list are warned of, and routing passes them over until they
// are listed or answer. Where an upstream lists none of its models, its list is
// not one of names to call, and nothing is passed over. Upstreams that need a
// caller's key are not asked. It ends early when ctx does.
func (s *Server) CheckModels(ctx context.Context) {
	for name, u := range s.upstreams {
		listed := u.listModels(ctx)
		if listed == nil {
			continue
		}
		var absent []*routing.Model
		ours := 0
		for _, m := range s.cfg.Catalogue.All() {
			if m.Upstream != name {
				continue
			}
			if ours++; !listed.has(m.ID) {
				absent = append(absent, m)
			}
		}
		skipped := s.cfg.Router != nil && len(absent) < ours
		for _, m := range absent {
			s.cfg.Logger.Warn("a configured model is not in its upstream's list", "model", m.Name, "id", m.ID, "upstream", name, "skipped", skipped)
			if skipped {
				s.cfg.Router.Listed(m, false)
			}
		}
	}
}

// seenListed takes a list of models that the default upstream gave to a client.
// It may be shorter than ours, since a key may not see all, so it only tells of
// models that are there.
func (s *Server) seenListed(list gjson.Result) {
	listed := readList(list)
	for _, m := range s.cfg.Catalogue.All() {
		if m.Upstream == s.cfg.Default && listed.has(m.ID) {
			s.cfg.Router.Listed(m, true)
		}
	}
}

// modelList is the ids that an upstream lists.
type modelList map[string]bool

func readList(data gjson.Result) modelList {
	ids := make(modelList)
	for _, m := range data.Array() {
		ids[m.Get("id").String()] = true
	}
	return ids
}

// has reports whether an id is listed, by itself or by a pattern of LiteLLM's
// kind, such as "openai/*".
func (l modelList) has(id string) bool {
	if l[id] || l["*"] {
		return true
	}
	provider, _, ok := strings.Cut(id, "/")
	return ok && l[provider+"/*"]
}

// listModels returns the ids that an upstream lists, nil when it does not say.
func (u *upstream) listModels(ctx context.Context) modelList {
	var c canceller
	defer context.AfterFunc(ctx, c.cancel)()
	req := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(req)
	u.address(req, "/models")
	resp, err := u.do(req, &c)
	if err != nil {
		return nil
	}
	defer resp.Close()
	body, err := readAnswer(resp)
	data := gjson.GetBytes(body, "data")
	if err != nil || resp.Header.StatusCode() != 200 || !data.IsArray() {
		return nil
	}
	return readList(data)
}
