package embed_test

import (
	"fmt"

	"github.com/understudy-ai/understudy/internal/embed"
)

func Example() {
	t, err := embed.Default()
	if err != nil {
		fmt.Println(err)
		return
	}
	question, answer, other := make([]int8, embed.Dim), make([]int8, embed.Dim), make([]int8, embed.Dim)
	t.Embed(question, "Which pets do they own?")
	t.Embed(answer, "Her two cats sleep all day.")
	t.Embed(other, "The invoice is due on Friday.")
	fmt.Println(embed.Dot(question, answer) > embed.Dot(question, other))
	// Output: true
}
