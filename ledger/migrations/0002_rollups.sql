-- What became of the scaffold, of the session's model and of the upstream's
-- own bill; what our own calls cost.
ALTER TABLE requests ADD COLUMN background       TEXT    NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN scaffold_arm     TEXT    NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN switched         TEXT    NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN disputed         INTEGER NOT NULL DEFAULT 0;
ALTER TABLE requests ADD COLUMN cache_write_hour INTEGER NOT NULL DEFAULT 0;
ALTER TABLE requests ADD COLUMN saved_background INTEGER;
UPDATE requests SET saved_background = 0 WHERE cost IS NOT NULL;

-- One index is enough, now that sums come from the roll-ups.
DROP INDEX requests_at;
DROP INDEX requests_tenant_agent;
CREATE INDEX requests_tenant_at ON requests (tenant, at_us);

-- Sums over all requests of a tenant that came within the span of seconds
-- after start (Unix seconds; an hour, or a day once that is long ago), for
-- each key of a dimension. sums holds counters in the order of sums.go.
CREATE TABLE rollups (
    tenant    TEXT    NOT NULL,
    dimension TEXT    NOT NULL,
    agent     TEXT    NOT NULL,
    start     INTEGER NOT NULL,
    span      INTEGER NOT NULL,
    key       TEXT    NOT NULL,
    sums      BLOB    NOT NULL,
    PRIMARY KEY (tenant, dimension, agent, start, span, key)
) STRICT, WITHOUT ROWID;

-- Requests up to the rowid upto are in the roll-ups; those that came before
-- gone_us may have been deleted.
CREATE TABLE rolled (upto INTEGER NOT NULL, gone_us INTEGER NOT NULL) STRICT;
INSERT INTO rolled VALUES (0, -9223372036854775808);
