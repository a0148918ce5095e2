package memory

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNews tells of what was stored because somebody said it, with what it took
// the place of, and of nothing else.
func TestNews(t *testing.T) {
	var got []News
	s := openStore(t, func(cfg *Config) { cfg.OnNews = func(n News) { got = append(got, n) } })
	for _, text := range []string{
		"We decided to use PostgreSQL for the ledger.", "We decided to use PostgreSQL for the ledger.", "I live in Bern.", "I live in Zurich.",
	} {
		s.Learn(Exchange{Scope: scopeOf(t, "ann"), Session: "s", Channel: "eng", Private: true, Name: "Ann", UserText: text})
		settle(t, s)
	}
	if _, err := s.Add(t.Context(), scopeOf(t, "ann"), NewItem{Content: "We decided to use Go.", Type: Decision}); err != nil {
		t.Fatal(err)
	}
	scope := scopeOf(t, "ann")
	news := func(typ Type, content, was string) News {
		return News{
			Tenant: scope.tenant, Agent: scope.agent, User: "ann", Channel: "eng", Private: true, Session: "s", Name: "Ann",
			Type: typ, Content: content, Was: was,
		}
	}
	want := []News{
		news(Decision, "We decided to use PostgreSQL for the ledger.", ""), news(Identity, "I live in Bern.", ""), news(Identity, "I live in Zurich.", "I live in Bern."),
	}
	for i := range got {
		page, err := s.List(t.Context(), scope, Filter{Text: got[i].Content})
		if err != nil || !slices.ContainsFunc(page.Items, func(item Item) bool { return item.ID == got[i].ID }) {
			t.Errorf("news %d is of no memory: %+v, %v", i, page.Items, err)
		}
		got[i].ID, got[i].At = "", want[0].At
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("news (-want +got):\n%s", diff)
	}
}
