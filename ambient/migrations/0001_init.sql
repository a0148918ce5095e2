-- Times are Unix milliseconds. An audience is '' (everybody), 'c/CHANNEL' (a private one) or 'u/USER'.

-- What happened.
CREATE TABLE events (
  seq        INTEGER PRIMARY KEY,
  id         TEXT NOT NULL UNIQUE,
  tenant     TEXT NOT NULL,
  agent      TEXT NOT NULL,
  audience   TEXT NOT NULL,
  type       TEXT NOT NULL,
  importance REAL NOT NULL,
  channel    TEXT NOT NULL,
  session    TEXT NOT NULL,
  user       TEXT NOT NULL, -- who did it, '' for nobody in particular
  name       TEXT NOT NULL, -- what that user is called
  summary    TEXT NOT NULL, -- one line, redacted
  at         INTEGER NOT NULL,
  day        TEXT NOT NULL  -- of at, in the agent's zone: 2026-03-18
) STRICT;

CREATE INDEX events_by_time ON events (tenant, agent, at);
CREATE INDEX events_by_age ON events (at);
CREATE INDEX events_by_user ON events (tenant, user);
