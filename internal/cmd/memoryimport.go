package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/understudy-ai/understudy/memory"
)

func runMemoryImport(ctx context.Context, args []string, o IO) error {
	f := addMemoryFlags("import", true)
	restore := f.Bool("restore", false, "bring back what was forgotten, too")
	if err := parseFlags(f.FlagSet, args, o); err != nil {
		return err
	}
	scope, err := f.scope()
	if err != nil {
		return err
	}
	in, size, err := openInputs(f.Args(), o)
	if err != nil {
		return err
	}
	defer in.Close()
	return f.with(ctx, o, true, func(store *memory.Store) error {
		p := newProgress(o.Err, "importing, bytes", size)
		report, err := store.Import(ctx, scope, watchedReader{in, p}, memory.ImportOptions{Restore: *restore})
		p.end()
		if err := errors.Join(err, f.reportImport(report, o.Out)); err != nil {
			return err
		}
		for _, e := range report.Errors {
			fmt.Fprintf(o.Err, "understudy: warning: line %d: %s\n", e.Line, e.Error)
		}
		if report.Invalid > 0 {
			return fmt.Errorf("%d of %d lines could not be read", report.Invalid, report.Rows)
		}
		return nil
	})
}

func (f *memoryFlags) reportImport(r memory.ImportReport, w io.Writer) error {
	if f.json {
		return json.NewEncoder(w).Encode(r)
	}
	_, err := fmt.Fprintf(w, "%s rows: %s stored, %s merged, %s superseded, %s quarantined, %s skipped, %s invalid\n", grouped(int64(r.Rows)), grouped(int64(r.Stored)),
		grouped(int64(r.Merged)), grouped(int64(r.Superseded)), grouped(int64(r.Quarantined)), grouped(int64(r.Skipped)), grouped(int64(r.Invalid)))
	return err
}

// watchedReader tells a progress of the bytes that are read.
type watchedReader struct {
	io.Reader
	p *progress
}

func (c watchedReader) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.p.add(int64(n))
	return n, err
}

// inputs are files that are read one after another.
type inputs struct {
	io.Reader
	files []*os.File
}

func (in *inputs) Close() error {
	var errs []error
	for _, f := range in.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// openInputs opens files, or stdin where there are none or one is "-". size is
// how many bytes they have, 0 when that isn't known.
func openInputs(names []string, o IO) (_ *inputs, size int64, err error) {
	in := &inputs{Reader: o.In}
	var readers []io.Reader
	known := true
	for _, name := range names {
		if name == "-" {
			readers, known = append(readers, o.In), false
			continue
		}
		file, err := os.Open(name)
		if err != nil {
			return nil, 0, errors.Join(err, in.Close())
		}
		in.files = append(in.files, file)
		readers = append(readers, file, strings.NewReader("\n")) // the next one begins a line
		if info, err := file.Stat(); err == nil {
			size += info.Size() + 1
		}
	}
	if len(readers) > 0 {
		in.Reader = io.MultiReader(readers...)
	}
	if !known {
		size = 0
	}
	return in, size, nil
}
