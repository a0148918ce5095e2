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
CREATE INDEX events_by_user ON events (tenant, user, at);
CREATE INDEX events_by_day ON events (tenant, agent, audience, day);

-- What happened, summed up: paragraphs of a day, each of the events up to last_seq that no earlier one has, and whole days.
CREATE TABLE digests (
  id        INTEGER PRIMARY KEY,
  tenant    TEXT NOT NULL,
  agent     TEXT NOT NULL,
  audience  TEXT NOT NULL,
  kind      TEXT NOT NULL, -- paragraph or day
  day       TEXT NOT NULL, -- in the agent's zone
  first_at  INTEGER NOT NULL, -- of the events in it
  last_at   INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,
  last_seq  INTEGER NOT NULL,
  events    INTEGER NOT NULL, -- how many
  users     TEXT NOT NULL, -- whose words may be in it: a JSON array
  text      TEXT NOT NULL,
  source    TEXT NOT NULL, -- rules or model
  due       INTEGER NOT NULL -- 1: a model may word it
) STRICT;

CREATE INDEX digests_by_day ON digests (tenant, agent, audience, day);
CREATE UNIQUE INDEX digests_once ON digests (tenant, agent, audience, day) WHERE kind = 'day';
CREATE INDEX digests_due ON digests (id) WHERE due = 1;

-- What workers were told before they began.
CREATE TABLE briefings (
  tenant   TEXT NOT NULL,
  agent    TEXT NOT NULL,
  user     TEXT NOT NULL,
  audience TEXT NOT NULL,
  session  TEXT NOT NULL,
  body     BLOB NOT NULL, -- JSON
  at       INTEGER NOT NULL,
  PRIMARY KEY (tenant, agent, user, audience, session)
) STRICT, WITHOUT ROWID;

CREATE INDEX briefings_by_age ON briefings (at);

-- What a model wrote of what an agent knows.
CREATE TABLE syntheses (
  tenant  TEXT NOT NULL,
  agent   TEXT NOT NULL,
  user    TEXT NOT NULL, -- '': of what everybody may know
  version INTEGER NOT NULL, -- of what it was made of
  text    TEXT NOT NULL,
  at      INTEGER NOT NULL,
  PRIMARY KEY (tenant, agent, user)
) STRICT, WITHOUT ROWID;

-- What workers, branches and timetables do.
CREATE TABLE runs (
  tenant   TEXT NOT NULL,
  agent    TEXT NOT NULL,
  audience TEXT NOT NULL,
  session  TEXT NOT NULL,
  kind     TEXT NOT NULL, -- worker, branch or cron
  channel  TEXT NOT NULL,
  user     TEXT NOT NULL,
  name     TEXT NOT NULL,
  task     TEXT NOT NULL, -- one line, redacted
  started  INTEGER NOT NULL,
  last     INTEGER NOT NULL, -- when it was heard of last
  open     INTEGER NOT NULL, -- 1: it has not ended
  failed   TEXT NOT NULL, -- why its last request got no answer, '' when it got one
  PRIMARY KEY (tenant, agent, audience, session, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX runs_by_time ON runs (tenant, agent, audience, last);
CREATE INDEX runs_by_age ON runs (last);

-- People, as platforms know them.
CREATE TABLE humans (
  id         TEXT PRIMARY KEY, -- made of the four below
  tenant     TEXT NOT NULL,
  platform   TEXT NOT NULL,    -- '' when it isn't said
  handle     TEXT NOT NULL,    -- what the platform calls them by; of one who is known by name alone, that name in small letters
  by_name    INTEGER NOT NULL, -- 1: known by name alone
  name       TEXT NOT NULL,    -- as last heard, '' when there is none
  folded     TEXT NOT NULL,    -- name and handle in small letters, to be searched
  person     TEXT NOT NULL,    -- the human that this one is linked to, else its own id
  first_seen INTEGER NOT NULL,
  last_seen  INTEGER NOT NULL,
  UNIQUE (tenant, platform, handle, by_name)
) STRICT;

CREATE INDEX humans_by_person ON humans (person);
CREATE INDEX humans_by_age ON humans (last_seen);

-- Who takes part in a conversation.
CREATE TABLE participants (
  tenant   TEXT NOT NULL,
  agent    TEXT NOT NULL,
  session  TEXT NOT NULL,
  audience TEXT NOT NULL,
  human    TEXT NOT NULL,
  at       INTEGER NOT NULL, -- when they last spoke in it
  PRIMARY KEY (tenant, agent, session, audience, human)
) STRICT, WITHOUT ROWID;

CREATE INDEX participants_by_time ON participants (at);
CREATE INDEX participants_by_human ON participants (human);

-- What people said last, a few things of each for each audience.
CREATE TABLE sayings (
  seq      INTEGER PRIMARY KEY,
  tenant   TEXT NOT NULL,
  agent    TEXT NOT NULL,
  audience TEXT NOT NULL,
  human    TEXT NOT NULL,
  text     TEXT NOT NULL, -- redacted
  at       INTEGER NOT NULL
) STRICT;

CREATE INDEX sayings_by_human ON sayings (human, tenant, agent, audience, seq);
CREATE INDEX sayings_by_time ON sayings (at);

-- What is known of people, for each audience that may be told.
CREATE TABLE profiles (
  tenant   TEXT NOT NULL,
  agent    TEXT NOT NULL,
  audience TEXT NOT NULL,
  person   TEXT NOT NULL,    -- a human that is linked to no other
  text     TEXT NOT NULL,
  source   TEXT NOT NULL,    -- rules or model
  made     INTEGER NOT NULL,
  seen     INTEGER NOT NULL, -- when the person was last seen by this audience
  PRIMARY KEY (tenant, agent, person, audience)
) STRICT, WITHOUT ROWID;

CREATE INDEX profiles_by_time ON profiles (seen);

-- Channels, and what was said last in those that are open to everybody.
CREATE TABLE channels (
  tenant   TEXT NOT NULL,
  agent    TEXT NOT NULL,
  channel  TEXT NOT NULL,
  name     TEXT NOT NULL,
  platform TEXT NOT NULL,
  private  INTEGER NOT NULL, -- 1 once it was called so
  human    TEXT NOT NULL,    -- who spoke last, '' when that isn't known or the channel is private
  speaker  TEXT NOT NULL,    -- what they are called
  topic    TEXT NOT NULL,    -- what they said, one line, redacted
  at       INTEGER NOT NULL,
  PRIMARY KEY (tenant, agent, channel)
) STRICT, WITHOUT ROWID;

CREATE INDEX channels_by_time ON channels (at);

-- What was said in a channel before the agent heard of it: shown to one conversation.
CREATE TABLE transcripts (
  seq      INTEGER PRIMARY KEY,
  tenant   TEXT NOT NULL,
  agent    TEXT NOT NULL,
  channel  TEXT NOT NULL,
  audience TEXT NOT NULL,
  name     TEXT NOT NULL,    -- who said it, '' for the agent
  text     TEXT NOT NULL,    -- one line, redacted
  at       INTEGER NOT NULL, -- 0: not known
  kept     INTEGER NOT NULL, -- when it came
  session  TEXT NOT NULL     -- the conversation that it is shown to, '' while there is none
) STRICT;

CREATE INDEX transcripts_by_channel ON transcripts (tenant, agent, channel, seq);
CREATE INDEX transcripts_by_age ON transcripts (kept);
