-- What became of answers with a scaffold and of those without: cut short, or
-- corrected by the human's next words.
ALTER TABLE requests ADD COLUMN truncated     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE requests ADD COLUMN corrected_arm TEXT    NOT NULL DEFAULT '';
