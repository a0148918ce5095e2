-- When a memory was last stated, as far as is known: an older statement that
-- arrives later doesn't take its place.
ALTER TABLE memories ADD COLUMN stated_at INTEGER NOT NULL DEFAULT 0;
UPDATE memories SET stated_at = valid_from;
