package proxy

import (
	"context"

	"github.com/tidwall/gjson"
	"github.com/valyala/fasthttp"
)

// CheckModels asks each upstream for its models and warns of configured ones
// that it does not list. It is for the start: no more than a warning, since some
// proxies serve models that they do not list, and one that is really missing is
// passed over when it answers 404. Upstreams that need a caller's key are not
// asked. It ends early when ctx does.
func (s *Server) CheckModels(ctx context.Context) {
	for name, u := range s.upstreams {
		listed := u.listModels(ctx)
		if listed == nil {
			continue
		}
		for _, m := range s.cfg.Catalogue.All() {
			if m.Upstream == name && !listed[m.ID] {
				s.cfg.Logger.Warn("a configured model is not in its upstream's list", "model", m.Name, "id", m.ID, "upstream", name)
			}
		}
	}
}

// listModels returns the ids that an upstream lists, nil when it does not say.
func (u *upstream) listModels(ctx context.Context) map[string]bool {
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
	ids := make(map[string]bool)
	for _, m := range data.Array() {
		ids[m.Get("id").String()] = true
	}
	return ids
}
