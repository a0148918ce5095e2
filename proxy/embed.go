package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/understudy-ai/understudy/routing"
)

// Embed returns a vector for each text, of the question's model: one of the
// catalogue, or any other of the default upstream. A length of 0 is the model's
// own. The question's text is not looked at. The call is made and booked as
// those of [Server.Ask] are.
func (s *Server) Embed(ctx context.Context, q Question, texts []string, length int) ([][]float32, error) {
	m, ok := s.cfg.Catalogue.Find(q.Model)
	if !ok {
		m = &routing.Model{Name: q.Model, ID: q.Model, Upstream: s.cfg.Default}
		if billed, known := s.cfg.Catalogue.Billed(q.Model); known {
			m.Price = billed.Price
		}
	}
	body, err := json.Marshal(struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Dimensions int      `json:"dimensions,omitempty"`
	}{m.ID, texts, length})
	if err != nil {
		return nil, fmt.Errorf("embedding with %s: %w", q.Model, err)
	}

	x := &exchange{s: s, start: time.Now(), at: s.cfg.Clock(), id: newID(), human: -1}
	answer, status, reported, err := x.ask(ctx, s.upstreams[m.Upstream], "/embeddings", body)
	var vectors [][]float32
	if err == nil {
		vectors = x.readVectors(answer, len(texts))
		x.answer.Failed = vectors == nil
	}
	if err = x.book(q, m, status, reported, err); err != nil {
		return nil, fmt.Errorf("embedding with %s: %w", q.Model, err)
	}
	return vectors, nil
}

// readVectors reads an answer with a vector for each of n texts, in any order;
// nil if it isn't one.
func (x *exchange) readVectors(answer []byte, n int) [][]float32 {
	var list struct {
		Model string
		Usage struct {
			Prompt int64 `json:"prompt_tokens"`
		}
		Data []struct {
			Index     int
			Embedding []float32
		}
	}
	if json.Unmarshal(answer, &list) != nil || len(list.Data) != n {
		return nil
	}
	// As a chat reports it: there is no completion here.
	x.answer.Model, x.answer.Usage = list.Model, fmt.Appendf(nil, `{"prompt_tokens":%d,"completion_tokens":0}`, list.Usage.Prompt)
	vectors := make([][]float32, n)
	for _, d := range list.Data {
		if d.Index < 0 || d.Index >= n || vectors[d.Index] != nil {
			return nil
		}
		vectors[d.Index] = d.Embedding
	}
	return vectors
}
