package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/understudy-ai/understudy/memory"
)

// Whose memories requests ask for: 20 people who share 4 agents.
const (
	scopes = 20
	agents = 4
)

// agentName and userName are the names of a scope in the request headers.
func agentName(scope int) string { return fmt.Sprintf("agent-%d", scope%agents) }
func userName(scope int) string  { return fmt.Sprintf("user-%02d", scope) }

// Agents are the agents whose memories requests ask for.
func Agents() []string {
	var names []string
	for i := range agents {
		names = append(names, agentName(i))
	}
	return names
}

// fill makes the store at path and puts so many memories into each scope.
func fill(ctx context.Context, path string, perScope int) (err error) {
	store, err := memory.Open(ctx, memory.Config{Path: path})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	for scope := range scopes {
		sc, err := memory.NewScope("default", agentName(scope), userName(scope))
		if err != nil {
			return err
		}
		r := rand.New(rand.NewPCG(uint64(scope), 0))
		for i := range perScope {
			item := fact(r, i)
			out, err := store.Add(ctx, sc, item)
			if err != nil {
				return err
			}
			if out.Outcome != memory.Stored {
				return fmt.Errorf("filling the store: %q was %s: %s", item.Content, out.Outcome, out.Reason)
			}
		}
	}
	return nil
}
