// Command understudy is an OpenAI-compatible proxy that scores each prompt,
// picks the model that fits, brings memory into the prompt, and accounts for
// what that saved. Run it without arguments for its commands.
package main

import (
	"os"

	"github.com/understudy-ai/understudy/internal/cmd"
)

func main() {
	os.Exit(cmd.Main(os.Args[1:], cmd.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ()}))
}
