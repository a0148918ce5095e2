package cmd

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"time"

	"github.com/understudy-ai/understudy/ledger"
)

func runLedger(ctx context.Context, args []string, o IO) error {
	if len(args) > 0 && args[0] == "export" {
		return runLedgerExport(ctx, args[1:], o)
	}
	return subcommand("ledger", args, o, "export")
}

// subcommand says what a command's subcommands are: an answer to -h, else an error.
func subcommand(name string, args []string, o IO, subs string) error {
	f := flags(name)
	if err := parseFlags(f, args, o); err != nil {
		return err
	}
	return usageError{hintError{fmt.Errorf("%s takes a subcommand: %s", name, subs), fmt.Sprintf(`"understudy %s SUBCOMMAND -h" shows its flags`, name)}}
}

func runLedgerExport(ctx context.Context, args []string, o IO) (err error) {
	f := flags("ledger export")
	cf, sf := addConfigFlags(f), addSelectionFlags(f)
	asCSV := f.Bool("csv", false, "write CSV instead of a JSON object a line")
	if err := parse(f, args, o); err != nil {
		return err
	}
	r, err := openLedger(ctx, cf, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	p := newProgress(o.Err, "exporting", 0)
	defer p.end()
	write := ledger.WriteJSONL
	if *asCSV {
		write = ledger.WriteCSV
	}
	return write(o.Out, counted(r.Entries(ctx, sf.Selection), p))
}

// counted tells p of every entry.
func counted(entries iter.Seq2[ledger.Entry, error], p *progress) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		for e, err := range entries {
			p.add(1)
			if !yield(e, err) {
				return
			}
		}
	}
}

// selectionFlags say which entries of the ledger are meant.
type selectionFlags struct{ ledger.Selection }

func addSelectionFlags(f *flag.FlagSet) *selectionFlags {
	s := &selectionFlags{}
	instant := func(t *time.Time) func(string) error {
		return func(text string) (err error) {
			*t, err = ledger.ParseTime(text, time.Now())
			return err
		}
	}
	f.Func("since", "from this `TIME` on: a duration before now (24h, 30d), a day, or an RFC 3339 time", instant(&s.Since))
	f.Func("until", "before this `TIME`", instant(&s.Until))
	f.StringVar(&s.Agent, "agent", "", "requests of this `AGENT` alone")
	f.StringVar(&s.Tenant, "tenant", "default", "requests of this `TENANT`")
	return s
}

// openLedger opens the configuration's ledger for reading, whether or not
// a server writes it.
func openLedger(ctx context.Context, cf *configFlags, o IO) (*ledger.Reader, error) {
	loaded, err := cf.load(o)
	if err != nil {
		return nil, err
	}
	r, err := ledger.OpenReader(ctx, filepath.Join(loaded.Config.DataDir, "ledger.db"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, hintError{err, "-data-dir or -config says where the stores are; serve makes them"}
	case errors.Is(err, ledger.ErrOlder):
		return nil, hintError{err, "start the server once; it brings the file up to date"}
	}
	return r, err
}
