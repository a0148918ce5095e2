package cmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/understudy-ai/understudy/ambient"
	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/internal/sqlite"
	"github.com/understudy-ai/understudy/memory"
	"github.com/understudy-ai/understudy/proxy"
)

// This file is "understudy memory": what the admin API does to memories, on the
// data folder of a server that doesn't run.

func memoryCommands() []command {
	return []command{
		{"import", "add the memories of JSONL files, or of stdin", runMemoryImport},
		{"export", "write a user's memories, or with no -user the workspace's, as JSONL", runMemoryExport},
		{"search", "search as a request would, for QUERY or stdin", runMemorySearch},
		{"forget", "delete one memory, or all that is known of a user, for good", runMemoryForget},
		{"backup", "copy the store to a new FILE; with -online beside a running server", runMemoryBackup},
		{"check", "verify the store", runMemoryCheck},
	}
}

func runMemory(ctx context.Context, args []string, o IO) error {
	name := "-h"
	if len(args) > 0 {
		name = args[0]
	}
	for _, c := range memoryCommands() {
		if c.name == name {
			return c.run(ctx, args[1:], o)
		}
	}
	if name == "-h" || name == "-help" || name == "--help" || name == "help" {
		fmt.Fprint(o.Out, "Usage: understudy memory COMMAND [flags]\n\n"+
			"Works on the data folder while no server does; that one has the same under /api/memories.\n\n")
		printCommands(o.Out, memoryCommands())
		return nil
	}
	return usageError{hintError{fmt.Errorf("unknown command %q", "memory "+name), `"understudy memory" lists the commands`}}
}

// memoryFlags are what the commands have in common.
type memoryFlags struct {
	*flag.FlagSet
	config              *configFlags
	tenant, agent, user string
	json                bool
}

// addMemoryFlags makes the flags of a command; scoped ones take a scope.
func addMemoryFlags(name string, scoped bool) *memoryFlags {
	f := &memoryFlags{FlagSet: flags("memory " + name)}
	f.config = addConfigFlags(f.FlagSet)
	if name != "export" {
		f.BoolVar(&f.json, "json", false, "write the result as JSON")
	}
	if scoped {
		f.StringVar(&f.tenant, "tenant", "default", "`TENANT` that the memories belong to")
		f.StringVar(&f.agent, "agent", "default", "`AGENT` whose memories are meant")
		f.StringVar(&f.user, "user", "", "`USER` whose own memories are meant (default: the agent's workspace)")
	}
	return f
}

// parse reads flags and leaves the arguments, of which there may be so many.
func (f *memoryFlags) parse(args []string, o IO, most int) error {
	if err := parseFlags(f.FlagSet, args, o); err != nil {
		return err
	}
	if f.NArg() > most {
		return usageError{fmt.Errorf("unexpected argument %q", f.Arg(most))}
	}
	return nil
}

func (f *memoryFlags) scope() (memory.Scope, error) {
	scope, err := memory.NewScope(f.tenant, f.agent, f.user)
	if err != nil {
		return scope, usageError{err}
	}
	return scope, nil
}

// path is the store's file.
func (f *memoryFlags) path(o IO) (string, error) {
	loaded, err := f.config.load(o)
	if err != nil {
		return "", err
	}
	return filepath.Join(loaded.Config.DataDir, memoryFile), nil
}

// with opens the store, for f alone. Only where create is set may it be new.
func (f *memoryFlags) with(ctx context.Context, o IO, create bool, use func(*memory.Store) error) (err error) {
	loaded, err := f.config.load(o)
	if err != nil {
		return err
	}
	dir := loaded.Config.DataDir
	if create {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("making the data folder: %w", err)
		}
	} else if _, err := os.Stat(filepath.Join(dir, memoryFile)); err != nil {
		return noStore(dir, err)
	}
	unlock, err := lockStore(dir, "stop that one first, or ask it: it has the same under /api/memories")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	store, err := memory.Open(ctx, memory.Config{
		Path: filepath.Join(dir, memoryFile), TurnTTL: loaded.Config.Memory.TurnTTL, IndexBytes: int64(loaded.Config.Memory.IndexBytes),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return use(store)
}

// lockStore takes the data folder. instead is what else there is to do when a
// server holds it.
func lockStore(dir, instead string) (func() error, error) {
	unlock, err := lockDir(dir)
	if _, held := errors.AsType[hintError](err); held {
		return nil, hintError{err, instead}
	}
	return unlock, err
}

func noStore(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return hintError{fmt.Errorf("there is no memory in the data folder %q", dir), "-data-dir or -config name another one"}
	}
	return fmt.Errorf("looking for the store: %w", err)
}

func runMemoryExport(ctx context.Context, args []string, o IO) error {
	f := addMemoryFlags("export", true)
	if err := f.parse(args, o, 0); err != nil {
		return err
	}
	scope, err := f.scope()
	if err != nil {
		return err
	}
	return f.with(ctx, o, false, func(store *memory.Store) error {
		w := bufio.NewWriter(o.Out)
		encoder := json.NewEncoder(w)
		for row, err := range store.Export(ctx, scope) {
			if err == nil {
				err = encoder.Encode(row)
			}
			if err != nil {
				return errors.Join(err, w.Flush())
			}
		}
		return w.Flush()
	})
}

func runMemorySearch(ctx context.Context, args []string, o IO) error {
	f := addMemoryFlags("search", true)
	k := f.Int("k", 10, "results at most, up to 50")
	profile := f.String("profile", "balanced", "`PROFILE` of scoring: balanced, recent, important or connected")
	noGate := f.Bool("no-gate", false, "show what shares anything with the query, however little")
	if err := parseFlags(f.FlagSet, args, o); err != nil {
		return err
	}
	if *k < 1 {
		return usageError{errors.New("-k takes a number from 1")}
	}
	scope, err := f.scope()
	if err != nil {
		return err
	}
	query := strings.Join(f.Args(), " ")
	if query == "" {
		text, err := io.ReadAll(o.In)
		if err != nil {
			return fmt.Errorf("reading the query: %w", err)
		}
		query = string(text)
	}
	return f.with(ctx, o, false, func(store *memory.Store) error {
		items, err := store.Search(ctx, scope, memory.Query{Text: query, Limit: *k, Profile: *profile, NoGate: *noGate})
		if errors.Is(err, memory.ErrProfile) {
			return usageError{err}
		}
		if err != nil {
			return err
		}
		return f.reportSearch(items, o.Out)
	})
}

func (f *memoryFlags) reportSearch(items []memory.Item, out io.Writer) error {
	if f.json {
		return json.NewEncoder(out).Encode(map[string]any{"items": append([]memory.Item{}, items...)})
	}
	if len(items) == 0 {
		_, err := fmt.Fprintln(out, "Nothing is remembered of that.")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SCORE\tTYPE\tDATE\tID\tCONTENT\tWHY")
	for _, item := range items {
		fmt.Fprintf(w, "%.3f\t%s\t%s\t%s\t%s\t%s\n", item.Score, item.Type, item.CreatedAt.Format(time.DateOnly), item.ID, printable(item.Content), item.Why)
	}
	return w.Flush()
}

// printable takes the control characters out, which a terminal would obey.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, s)
}

func runMemoryForget(ctx context.Context, args []string, o IO) error {
	f := addMemoryFlags("forget", true)
	id := f.String("id", "", "`ID` of the one memory to delete; -agent and -user say whose it is")
	if err := f.parse(args, o, 0); err != nil {
		return err
	}
	agent := ""
	f.Visit(func(given *flag.Flag) {
		if given.Name == "agent" {
			agent = f.agent
		}
	})
	if *id == "" && f.user == "" {
		return usageError{errors.New("forget takes -user, or -id")}
	}
	scope, err := f.scope()
	if err != nil {
		return err
	}
	loaded, err := f.config.load(o)
	if err != nil {
		return err
	}
	return f.with(ctx, o, false, func(store *memory.Store) error {
		n := 1
		var told func(assemble.Conversation, []string) bool
		if *id != "" {
			told, err = f.forget(ctx, loaded.Config, store, scope, *id)
		} else {
			var erased ambient.Erased
			if n, err = store.ForgetUser(ctx, f.tenant, f.user, agent); err == nil {
				erased, err = eraseUser(ctx, loaded.Config, f.tenant, f.user, agent)
			}
			told = proxy.ToldOf(f.tenant, f.user, agent, erased)
		}
		if err = errors.Join(err, dropPrompts(ctx, loaded.Config.DataDir, told)); err != nil {
			return err
		}
		if f.json {
			return json.NewEncoder(o.Out).Encode(map[string]int{"forgotten": n})
		}
		_, err = fmt.Fprintf(o.Out, "%s forgotten\n", grouped(int64(n)))
		return err
	})
}

// forget deletes a memory, and what the surroundings have of it. It returns
// which conversations were told.
func (f *memoryFlags) forget(ctx context.Context, cfg config.Config, store *memory.Store, scope memory.Scope, id string) (told func(assemble.Conversation, []string) bool, err error) {
	gone, err := store.Forget(ctx, scope, id)
	if err != nil {
		return proxy.ToldOfMemories(f.tenant, f.agent, []string{id}), err
	}
	ids := []string{id, gone.SupersededBy}
	err = withAmbient(ctx, cfg, func(made *ambient.Store) error {
		others, err := made.EraseMade(ctx, f.tenant, f.agent, ambient.Forgotten(gone))
		ids = append(ids, others...)
		return err
	})
	return proxy.ToldOfMemories(f.tenant, f.agent, ids), err
}

func runMemoryCheck(ctx context.Context, args []string, o IO) error {
	f := addMemoryFlags("check", false)
	if err := f.parse(args, o, 0); err != nil {
		return err
	}
	return f.with(ctx, o, false, func(store *memory.Store) error {
		const mend = "put a backup in its place, or export what can be read and import it into a new one"
		report, err := store.Verify(ctx)
		if sqlite.Damaged(err) {
			return hintError{err, mend}
		}
		if err != nil {
			return err
		}
		if f.json {
			err = json.NewEncoder(o.Out).Encode(struct {
				OK bool `json:"ok"`
				memory.Report
			}{len(report.Problems) == 0, report})
		} else {
			for _, problem := range report.Problems {
				fmt.Fprintln(o.Out, problem)
			}
			for _, v := range report.Vectors {
				fmt.Fprintf(o.Out, "%s vectors of %s, dimension %d\n", grouped(int64(v.Memories)), v.Model, v.Dimension)
			}
			_, err = fmt.Fprintf(o.Out, "%s memories in %s scopes, %s turns, %d problems\n", grouped(int64(report.Memories)), grouped(int64(report.Scopes)),
				grouped(int64(report.Turns)), len(report.Problems))
		}
		if err == nil && len(report.Problems) > 0 {
			err = hintError{fmt.Errorf("the store has %d problems", len(report.Problems)), mend}
		}
		return err
	})
}
