package memory

import (
	"math/bits"

	"github.com/understudy-ai/understudy/internal/embed"
)

// likeWords is the similarity of two texts that share just enough words for
// recall's gate. It is also about the cosine from which on the table of meanings
// puts what is about one thing: of a task, and of what happened around it.
const likeWords = 0.6

// Similar returns a function that tells how much a text has to do with what was
// asked or wanted, in [0, 1]: the cosine of their meanings, and at least 0.6 when
// they share enough words for the one to be recalled by the other. What is
// returned is not safe for concurrent use.
func Similar(wanted string) (func(text string) float64, error) {
	table, err := embed.Default()
	if err != nil {
		return nil, err
	}
	words := queryTokens(wanted)
	place := make(map[string]int, len(words))
	for i, w := range words {
		place[w] = i
	}
	g := newGate(words, make([]int, len(words)), 0)
	mine, other := make([]int8, embed.Dim), make([]int8, embed.Dim)
	known := table.Embed(mine, clip(wanted, maxQueryText))
	length := embed.Norm(mine)

	return func(text string) float64 {
		var shared uint64
		for _, w := range tokens(clip(text, maxQueryText)) {
			if i, ok := place[w]; ok {
				shared |= 1 << i
			}
		}
		score := 0.0
		if known && table.Embed(other, text) {
			score = max(float64(embed.Dot(mine, other))/float64(length*embed.Norm(other)), 0)
		}
		if share := g.coverage(shared); bits.OnesCount64(shared) > 0 && share > 0 {
			score = max(score, likeWords+(1-likeWords)*share)
		}

		return min(score, 1)
	}, nil
}
