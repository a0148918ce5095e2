package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/understudy-ai/understudy/internal/sqlite"
)

func runMemoryBackup(ctx context.Context, args []string, o IO) (err error) {
	f := addMemoryFlags("backup", false)
	online := f.Bool("online", false, "copy beside a running server, which goes on")
	if err := f.parse(args, o, 1); err != nil {
		return err
	}
	dest := f.Arg(0)
	if dest == "" {
		return usageError{errors.New("backup takes the FILE to make")}
	}
	path, err := f.path(o)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return noStore(filepath.Dir(path), err)
	}
	if !*online {
		unlock, err := lockStore(filepath.Dir(path), "-online makes a copy beside it, which goes on")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	var w copyWatch
	err = sqlite.Backup(ctx, path, dest, func(bytes int64, partial string) { w.start(newProgress(o.Err, "copying, bytes", bytes), partial) })
	w.stop()
	if err != nil {
		return err
	}
	info, err := os.Stat(dest)
	if err != nil {
		return err
	}
	if f.json {
		return json.NewEncoder(o.Out).Encode(map[string]any{"file": dest, "bytes": info.Size()})
	}
	_, err = fmt.Fprintf(o.Out, "%s: %s bytes, verified\n", dest, grouped(info.Size()))
	return err
}

// copyWatch shows how far a copy is by the size of its file.
type copyWatch struct {
	p          *progress
	quit, done chan struct{}
}

func (w *copyWatch) start(p *progress, path string) {
	w.p, w.quit, w.done = p, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(w.done)
		tick := time.NewTicker(redraw)
		defer tick.Stop()
		var known int64
		for {
			select {
			case <-w.quit:
				return
			case <-tick.C:
				if info, err := os.Stat(path); err == nil {
					p.add(info.Size() - known)
					known = info.Size()
				}
			}
		}
	}()
}

func (w *copyWatch) stop() {
	if w.p == nil {
		return
	}
	close(w.quit)
	<-w.done
	w.p.end()
}
