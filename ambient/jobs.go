package ambient

import (
	"context"
	"database/sql"
	"time"

	"github.com/understudy-ai/understudy/internal/background"
)

// jobs are what is done that nobody waits for. Without a model there is only the tidying up.
func (s *Store) jobs() []background.Job {
	jobs := []background.Job{{Name: "tidy", Every: time.Hour, Run: s.cleanUp}}
	if s.cfg.Background.Ask == nil {
		return jobs
	}
	return jobs
}

// cleanUp deletes what nobody asks for any more.
func (s *Store) cleanUp(ctx context.Context) error {
	since := s.cfg.Clock().Add(-briefingTTL)
	return s.do(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, oldBriefings, since.UnixMilli())
		return err
	}, nil)
}
