package cmd

import (
	"context"

	"github.com/understudy-ai/understudy/ambient"
	"github.com/understudy-ai/understudy/memory"
	"github.com/understudy-ai/understudy/proxy"
)

// backgroundModel asks the model for work that nobody waits for, nil when there
// is none. That work begins before the server does, and waits for it.
func (a *app) backgroundModel() func(context.Context, ambient.Question) (ambient.Reply, error) {
	model := a.cfg.Ambient.Background.Model
	if model == "" {
		return nil
	}
	return func(ctx context.Context, q ambient.Question) (ambient.Reply, error) {
		select {
		case <-a.serving:
		case <-ctx.Done():
			return ambient.Reply{}, ctx.Err()
		}
		reply, err := a.server.Ask(ctx, proxy.Question{
			Purpose: q.Purpose, Tenant: q.Tenant, Agent: q.Agent, User: q.User, Model: model, Instructions: q.Instructions, Text: q.Text,
		})
		return ambient.Reply{Text: reply.Text, USD: reply.USD}, err
	}
}

// recallFor returns what memory knows of a task.
func (a *app) recallFor(ctx context.Context, tenant, agent, user, task string, limit int) ([]ambient.Memory, error) {
	if a.memory == nil {
		return nil, nil
	}
	scope, err := memory.NewScope(tenant, agent, user)
	if err != nil {
		return nil, err
	}
	found, err := a.memory.Search(ctx, scope, memory.Query{Text: task, Limit: limit})
	if err != nil {
		return nil, err
	}
	out := make([]ambient.Memory, len(found))
	for i, item := range found {
		out[i] = ambient.Memory{ID: item.ID, Type: string(item.Type), Content: item.Content, At: item.CreatedAt, Score: item.Score, Personal: item.User != ""}
	}
	return out, nil
}

// similar tells how much texts have to do with a task.
func (a *app) similar(task string) func(string) float64 {
	like, err := memory.Similar(task)
	if err != nil { // the binary was built wrong, and memory says so
		return func(string) float64 { return 0 }
	}
	return like
}

// heldWords is how much of what is known the model is told.
const heldWords = 1500

// held returns what memory knows of one scope, nil where there is no memory.
func (a *app) held() func(ctx context.Context, tenant, agent, user string) (ambient.Held, error) {
	if !a.cfg.Memory.Enabled {
		return nil
	}
	return func(ctx context.Context, tenant, agent, user string) (ambient.Held, error) {
		select {
		case <-a.serving: // memory is open
		case <-ctx.Done():
			return ambient.Held{}, ctx.Err()
		}
		scope, err := memory.NewScope(tenant, agent, user)
		if err != nil {
			return ambient.Held{}, err
		}
		k, err := a.memory.OwnKnowledge(ctx, scope)
		return ambient.Held{Version: k.Version, Lines: proxy.KnowledgeLines(&k, heldWords)}, err
	}
}
