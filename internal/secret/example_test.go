package secret_test

import (
	"fmt"

	"github.com/understudy-ai/understudy/internal/secret"
)

// A key prints as [redacted], however it is printed.
func ExampleText() {
	key := secret.Text("sk-123")
	fmt.Println(key, len(string(key)))
	// Output: [redacted] 6
}
