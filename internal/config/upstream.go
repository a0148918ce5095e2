package config

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/understudy-ai/understudy/internal/secret"
)

// Upstream is a server that speaks the OpenAI API.
type Upstream struct {
	// BaseURL is the API's root, such as https://api.openai.com/v1, kept without a trailing slash.
	BaseURL string `yaml:"base_url"`
	// APIKeyEnv and APIKeyFile say where the API key is: an environment variable or a file, not both. With neither,
	// or with a variable that is not set, the client's own Authorization header goes through.
	APIKeyEnv  string   `yaml:"api_key_env"`
	APIKeyFile string   `yaml:"api_key_file"`
	Timeouts   Timeouts `yaml:"timeouts"`
	// MaxConns bounds the connections to this upstream.
	MaxConns int `yaml:"max_conns"`
}

// Timeouts bounds each phase of a request to an upstream. None of them limits how long a healthy answer may take.
type Timeouts struct {
	Connect time.Duration `yaml:"connect"`
	// FirstByte is from the sent request to the first byte of the answer.
	FirstByte time.Duration `yaml:"first_byte"`
	// Idle is between two reads of an answer.
	Idle time.Duration `yaml:"idle"`
}

// setDefaults fills what an upstream has that the file names but describes only in part.
func (u *Upstream) setDefaults() {
	// 120 s: reasoning models may think for more than a minute before their first token.
	u.Timeouts = Timeouts{Connect: 5 * time.Second, FirstByte: 120 * time.Second, Idle: 60 * time.Second}
	u.MaxConns = 512
}

// APIKey returns the upstream's key from its file, or from its variable by getenv. It is empty, without an error,
// when neither is configured or the variable is not set: the client's own Authorization is then to go through.
// A file that can't be read or holds nothing, and a key that no HTTP header can carry, are errors.
func (u Upstream) APIKey(getenv func(string) string) (secret.Text, error) {
	if u.APIKeyFile == "" && u.APIKeyEnv == "" {
		return "", nil
	}
	if u.APIKeyFile == "" {
		key, err := cleanKey(getenv(u.APIKeyEnv))
		if err != nil {
			return "", fmt.Errorf("reading API key from $%s: %w", u.APIKeyEnv, err)
		}
		return key, nil
	}
	data, err := os.ReadFile(u.APIKeyFile)
	if err != nil {
		return "", fmt.Errorf("reading API key: %w", err)
	}
	key, err := cleanKey(string(data))
	if err == nil && key == "" {
		err = errors.New("the file is empty")
	}
	if err != nil {
		return "", fmt.Errorf("reading API key from %q: %w", u.APIKeyFile, err)
	}
	return key, nil
}

// cleanKey trims the white space that editors and shells leave, and refuses what would break a header.
func cleanKey(text string) (secret.Text, error) {
	text = strings.TrimSpace(text)
	unfit := func(r rune) bool { return r <= ' ' || r > '~' }
	if strings.ContainsFunc(text, unfit) {
		return "", errors.New("the key holds a space or another character that no HTTP header can carry")
	}
	return secret.Text(text), nil
}
