package ambient

import "context"

// checkpoint empties the log, which may hold deleted bytes. When a reader is in the way for long the deletion stands all
// the same, and a later checkpoint finishes it.
func (s *Store) checkpoint(ctx context.Context) {
	if err := s.db.Checkpoint(ctx); err != nil {
		s.cfg.Logger.Warn("deleted bytes stay in the log for now", "error", err)
	}
}
