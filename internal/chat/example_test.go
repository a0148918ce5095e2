package chat_test

import (
	"fmt"

	"github.com/understudy-ai/understudy/internal/chat"
)

// A request is read once, then sent on with only the named bytes changed.
func Example() {
	body := []byte(`{"model": "big", "seed": 9007199254740993, "messages": [{"role": "user", "content": "Hi"}]}`)
	v, err := chat.Parse(body)
	if err != nil {
		fmt.Println(err)
		return
	}
	humans := v.Humans()
	fmt.Printf("%s hears: %s\n", v.Model(), v.Text(humans[len(humans)-1]))

	edits := []chat.Edit{v.SetModel("small")}
	if e, ok := v.AppendSystem("Answer in one line."); ok {
		edits = append(edits, e)
	}
	out, err := chat.Splice(body, edits)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", out)
	// Output:
	// big hears: Hi
	// {"model": "small", "seed": 9007199254740993, "messages": [{"role":"system","content":"Answer in one line."},{"role": "user", "content": "Hi"}]}
}

// Bytes arrive in chunks of any size; frames leave whole and unchanged.
func ExampleFrames() {
	var frames chat.Frames
	var answer chat.Answer
	for _, chunk := range []string{
		": ping\n\ndata: {\"choices\":[{\"delta\":{\"con",
		"tent\":\"Hello\"}}]}\n",
		"\ndata: [DONE]\n\n",
	} {
		frames.Write([]byte(chunk))
		for frame := frames.Next(); frame != nil; frame = frames.Next() {
			answer.Frame(frame)
			fmt.Printf("%q\n", frame)
		}
	}
	fmt.Println(answer.Text(), answer.Finished)
	// Output:
	// ": ping\n\n"
	// "data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\n"
	// "data: [DONE]\n\n"
	// Hello true
}
