package ambient

import (
	"context"
	"database/sql"
	"fmt"
)

// This file forgets what was made of things that are to be forgotten.

// forgetMade forgets what RAM holds of it.
func (s *Store) forgetMade() {
	s.briefings.clear()
	s.syntheses.clear()
}

// EraseMade erases what was made of an agent's memories, since one of them is to be forgotten: texts that may tell of it. Once
// it returns, the bytes are gone from the file. What rules make is made again when it is asked for.
func (s *Store) EraseMade(ctx context.Context, tenant, agent string) error {
	if tenant == "" {
		return errNoTenant
	}
	err := s.do(ctx, func(ctx context.Context, tx *sql.Tx) error {
		s.wiped.Add(1)
		for _, query := range []string{`DELETE FROM briefings WHERE tenant = ? AND agent = ?`, `DELETE FROM syntheses WHERE tenant = ? AND agent = ?`} {
			if _, err := tx.ExecContext(ctx, query, tenant, agent); err != nil {
				return err
			}
		}
		return nil
	}, s.forgetMade)
	if err != nil {
		return fmt.Errorf("erasing what was made of memories: %w", err)
	}
	s.checkpoint(ctx)
	return nil
}
