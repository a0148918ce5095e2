package cmd

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/understudy-ai/understudy/internal/config"
)

// defaultFile is read when -config is not given and it exists.
const defaultFile = "config.yaml"

// configFlags are the flags that every command with a configuration has.
type configFlags struct {
	path string
	set  map[string]string
}

func addConfigFlags(f *flag.FlagSet) *configFlags {
	c := &configFlags{set: make(map[string]string)}
	f.StringVar(&c.path, "config", "", "configuration `FILE` (default: config.yaml if it exists, else the built-in defaults)")
	f.Func("listen", "`ADDR` to serve on, like -set listen=ADDR", c.assign("listen"))
	f.Func("data-dir", "`DIR` of the stores, like -set data_dir=DIR", c.assign("data_dir"))
	f.Func("set", "`KEY=VALUE` over file and environment, such as routing.profile=eco; may be repeated", func(kv string) error {
		key, value, ok := strings.Cut(kv, "=")
		if !ok {
			return fmt.Errorf("%q is not KEY=VALUE", kv)
		}
		c.set[key] = value
		return nil
	})
	return c
}

func (c *configFlags) assign(key string) func(string) error {
	return func(value string) error {
		c.set[key] = value
		return nil
	}
}

// load reads the configuration and tells of its warnings.
func (c *configFlags) load(o IO) (*config.Loaded, error) {
	path := c.path
	if path == "" {
		if _, err := os.Stat(defaultFile); err == nil {
			path = defaultFile
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("looking for %s: %w", defaultFile, err)
		}
	}
	loaded, err := config.Load(config.Options{Path: path, Env: o.Env, Flags: c.set})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, hintError{err, `"understudy serve -print-config" shows every key with its default; config.yaml explains them`}
	}
	for _, w := range loaded.Warnings {
		fmt.Fprintf(o.Err, "understudy: warning: %s\n", w)
	}
	return loaded, nil
}
