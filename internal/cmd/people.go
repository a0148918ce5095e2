package cmd

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/understudy-ai/understudy/ambient"
	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/memory"
)

func people(c config.Participants) ambient.People {
	return ambient.People{
		Min: c.Min, Max: c.Max, Tokens: c.Tokens, StaleAfter: c.SummaryStaleAfter,
		Interval: c.SummaryInterval, PerPass: c.SummariesPerPass, Words: c.SummaryWords,
	}
}

// lookedThrough is how many of somebody's memories, the newest, are looked
// through for the ones that tell most of them.
const lookedThrough = 100

// known returns what memory holds of somebody. It fails open: whoever asks
// makes do without.
func (a *app) known(ctx context.Context, whom ambient.Whom) []ambient.Known {
	scope, err := memory.NewScope(whom.Tenant, whom.Agent, whom.User)
	if err != nil || a.memory == nil {
		return nil
	}
	var found []memory.Item
	if whom.User != "" {
		whom.Names = []string{""} // whatever is theirs
	}
	for _, name := range whom.Names {
		page, err := a.memory.List(ctx, scope, memory.Filter{Text: name, Limit: lookedThrough})
		if err != nil {
			a.logger.Warn("looking for what is known of a person failed", "error", err)
			return nil
		}
		for _, item := range page.Items {
			if item.User == whom.User && item.Status == memory.StatusActive && item.ValidTo == nil && says(item.Content, name) {
				found = append(found, item)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b memory.Item) int {
		return cmp.Or(cmp.Compare(b.Importance, a.Importance), b.CreatedAt.Compare(a.CreatedAt))
	})
	var out []ambient.Known
	for _, item := range found[:min(len(found), whom.Limit)] {
		out = append(out, ambient.Known{Type: string(item.Type), Content: item.Content})
	}
	return out
}

// says reports whether a text has a name in it, as words of its own.
func says(text, name string) bool {
	if name == "" {
		return true
	}
	text, name = strings.ToLower(text), strings.ToLower(name)
	for {
		before, after, found := strings.Cut(text, name)
		if !found {
			return false
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		next, _ := utf8.DecodeRuneInString(after)
		if !unicode.IsLetter(last) && !unicode.IsLetter(next) {
			return true
		}
		text = after
	}
}

// eraseUser takes a user from the data folder's store of what surrounds
// conversations.
func eraseUser(ctx context.Context, cfg config.Config, tenant, user, agent string) (erased ambient.Erased, err error) {
	err = withAmbient(ctx, cfg, func(store *ambient.Store) (err error) {
		erased, err = store.EraseUser(ctx, tenant, user, agent)
		return err
	})
	return erased, err
}

// withAmbient opens the data folder's store of what surrounds conversations, if
// there is one, as a server with that configuration would. No server may hold it meanwhile.
func withAmbient(ctx context.Context, cfg config.Config, use func(*ambient.Store) error) (err error) {
	how := surroundings(cfg)
	if _, err := os.Stat(how.Path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	store, err := ambient.Open(ctx, how)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := store.Check(ctx); err != nil { // else it would be waited for
		return err
	}
	return use(store)
}
