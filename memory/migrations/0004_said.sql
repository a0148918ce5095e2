-- Where a memory was said and by whom, as far as is known: what was said just
-- before and after helps to find it, and so does its speaker's name.
ALTER TABLE memories ADD COLUMN session TEXT NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN name TEXT NOT NULL DEFAULT '';
