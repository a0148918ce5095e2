// Package cmd is the command line: one file per subcommand, the wiring of the
// parts, and shutdown. It decides nothing about requests.
//
// Data goes to stdout, talk to stderr. Exit codes: 0 ok, 1 failure, 2 usage.
package cmd

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// IO is what a command reads and writes.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	Env      []string         // NAME=value
	Clock    func() time.Time // nil: time.Now
}

func (o IO) getenv(name string) string {
	for _, kv := range o.Env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// now is the present time.
func (o IO) now() time.Time {
	if o.Clock == nil {
		return time.Now()
	}
	return o.Clock()
}

type command struct {
	name, about string
	run         func(ctx context.Context, args []string, o IO) error
}

func commands() []command {
	return []command{
		{"demo", "play a conversation against a simulated upstream; needs no key", runDemo},
		{"serve", "serve the proxy", runServe},
		{"check", "validate the configuration, list the models, ask each one with -probe", runCheck},
		{"route", "tell what would become of a chat request (a body on stdin), without sending it", runRoute},
		{"replay", "reckon what recorded TRAFFIC would have cost by each profile; -synth: synthetic conversations", runReplay},
		{"score", "explain how a prompt (TEXT, or stdin) is scored", runScore},
		{"review", "look for faults in a system prompt: stdin, or with -channel what a running server sends", runReview},
		{"stats", "what requests cost and saved, from the ledger", runStats},
		{"prices", "show a model's price, import a newer price list", runPrices},
		{"ledger", "export the ledger's entries, one a request", runLedger},
		{"eval", "evaluate assembled prompts, recall or routing, and report it honestly", runEval},
		{"healthcheck", "exit 0 when a running server is ready", runHealthcheck},
		{"memory", "import, export, search, forget, back up and check memories", runMemory},
		{"bench", "measure what the proxy adds to a request, against others with -peer", runBench},
		{"version", "print the version", runVersion},
	}
}

// usageError is what the caller of the command line can mend; it exits with 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// hintError adds what to do next.
type hintError struct {
	error
	hint string
}

func (e hintError) Unwrap() error { return e.error }

// Main runs one command and returns its exit code.
func Main(args []string, o IO) int {
	if len(args) == 0 {
		usage(o.Out)
		return 0
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(o.Out)
		return 0
	}
	ctx, stop := untilSignal()
	defer stop()
	for _, c := range commands() {
		if c.name == args[0] {
			return exitCode(c.run(ctx, args[1:], o), o)
		}
	}
	fmt.Fprintf(o.Err, "understudy: error: unknown command %q\nunderstudy: hint: run understudy without arguments for the list\n", args[0])
	return 2
}

// untilSignal returns a context that ends with the first signal that asks to
// end. Before it does, the next signal is left to kill the process at once.
func untilSignal() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer close(ended)
		select {
		case <-signals:
		case <-ctx.Done():
		}
		signal.Stop(signals)
		cancel()
	}()
	return ctx, func() {
		cancel()
		<-ended
	}
}

func exitCode(err error, o IO) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	for line := range strings.SplitSeq(strings.TrimSpace(err.Error()), "\n") {
		fmt.Fprintf(o.Err, "understudy: error: %s\n", line)
	}
	if h, ok := errors.AsType[hintError](err); ok {
		fmt.Fprintf(o.Err, "understudy: hint: %s\n", h.hint)
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return 2
	}
	return 1
}

func usage(w io.Writer) {
	fmt.Fprint(w, `Understudy is an OpenAI-compatible LLM proxy. It scores each prompt, picks the
model that fits, recalls memory into the prompt, streams the answer back
untouched, and accounts for what that saved.

  understudy demo                 see it work, without a key
  understudy serve                serve on 127.0.0.1:8484; then point any OpenAI
                                  SDK at http://127.0.0.1:8484/v1

Commands:
`)
	printCommands(w, commands())
	fmt.Fprint(w, "\n\"understudy COMMAND -h\" shows a command's flags.\n")
}

func printCommands(w io.Writer, list []command) {
	for _, c := range list {
		fmt.Fprintf(w, "  %-12s %s\n", c.name, c.about)
	}
}

// flags makes a command's flag set. It says nothing of its own accord.
func flags(name string) *flag.FlagSet {
	fs := flag.NewFlagSet("understudy "+name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	return fs
}

// parse reads flags and refuses stray arguments.
func parse(fs *flag.FlagSet, args []string, o IO) error {
	if err := parseFlags(fs, args, o); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return usageError{fmt.Errorf("unexpected argument %q", fs.Arg(0))}
	}
	return nil
}

// parseFlags reads flags and leaves the arguments. Asked for help it writes
// that and returns [flag.ErrHelp].
func parseFlags(fs *flag.FlagSet, args []string, o IO) error {
	err := fs.Parse(args)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(o.Out, "Usage: %s [flags]\n", fs.Name())
		fs.SetOutput(o.Out)
		fs.PrintDefaults()
		return err
	}
	return usageError{hintError{err, fmt.Sprintf(`"%s -h" shows the flags`, fs.Name())}}
}

// Version is the module's version, with the commit when the build knows it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	if version == "" || version == "(devel)" {
		version = "dev"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && version == "dev" {
			version += "+" + s.Value[:min(12, len(s.Value))]
		}
	}
	return version
}

func runVersion(_ context.Context, args []string, o IO) error {
	if err := parse(flags("version"), args, o); err != nil {
		return err
	}
	_, err := fmt.Fprintln(o.Out, "understudy", Version())
	return err
}
