package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/understudy-ai/understudy/internal/config"
)

// modelCheck bounds the look at the upstreams' model lists, beside serving.
const modelCheck = 10 * time.Second

func runServe(ctx context.Context, args []string, o IO) error {
	f := flags("serve")
	cf := addConfigFlags(f)
	printConfig := f.Bool("print-config", false, "print the effective configuration with the source of each value, and exit")
	if err := parse(f, args, o); err != nil {
		return err
	}
	loaded, err := cf.load(o)
	if err != nil {
		return err
	}
	if *printConfig {
		return loaded.Print(o.Out)
	}
	logger := newLogger(loaded.Config.Log, o.Err)
	a, err := startApp(ctx, loaded.Config, o, logger)
	if err != nil {
		return err
	}
	a.logger.Info("serving", "url", a.url(), "upstream", loaded.Config.Upstreams["default"].BaseURL, "version", Version())
	checking, stopChecking := context.WithTimeout(ctx, modelCheck)
	var check sync.WaitGroup
	check.Go(func() { a.server.CheckModels(checking) })
	defer check.Wait()
	defer stopChecking()
	select {
	case <-ctx.Done():
		a.logger.Info("stopping", "grace", loaded.Config.Shutdown.Grace)
		return a.close()
	case err := <-a.served:
		a.served <- nil // for close, which waits for it
		return errors.Join(fmt.Errorf("serving: %w", err), a.close())
	}
}

func newLogger(cfg config.Log, w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(cfg.Level)) // validated; an unknown one stays info
	opts := &slog.HandlerOptions{Level: level}
	if cfg.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
