-- A memory belongs to (tenant, agent, user); user '' is the agent's workspace.
-- Times are Unix milliseconds. hash covers the scope and the folded content.
-- value is set where (subject, attribute) can hold only one value at a time.
CREATE TABLE memories (
    n             INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE,
    external_id   TEXT    NOT NULL,
    tenant        TEXT    NOT NULL,
    agent         TEXT    NOT NULL,
    user          TEXT    NOT NULL,
    type          TEXT    NOT NULL,
    content       TEXT    NOT NULL,
    subject       TEXT    NOT NULL,
    attribute     TEXT    NOT NULL,
    value         TEXT    NOT NULL,
    importance    REAL    NOT NULL,
    source        TEXT    NOT NULL,
    status        TEXT    NOT NULL,
    hash          BLOB    NOT NULL,
    created_at    INTEGER NOT NULL,
    valid_from    INTEGER NOT NULL,
    valid_to      INTEGER,
    superseded_by TEXT    NOT NULL DEFAULT '',
    hits          INTEGER NOT NULL DEFAULT 1
) STRICT;

CREATE INDEX memories_scope ON memories (tenant, agent, user, n);
CREATE INDEX memories_hash ON memories (hash);
CREATE INDEX memories_slot ON memories (tenant, agent, user, subject, attribute)
    WHERE value <> '' AND valid_to IS NULL;

-- Both columns hold tokens that Go has folded already, separated by spaces:
-- the ascii tokenizer leaves them as they are. scope holds the key of the
-- scope, another one for what isn't recalled (history, quarantine), so that a
-- search is confined inside MATCH. rowid is memories.n.
CREATE VIRTUAL TABLE memories_fts USING fts5 (scope, text, tokenize = 'ascii');
INSERT INTO memories_fts (memories_fts, rank) VALUES ('secure-delete', 1);
INSERT INTO memories_fts (memories_fts, rank) VALUES ('rank', 'bm25(0.0, 1.0)'); -- A scope is no evidence.

-- What was said. hash covers the scope and the folded human text.
CREATE TABLE exchanges (
    n          INTEGER PRIMARY KEY,
    tenant     TEXT    NOT NULL,
    agent      TEXT    NOT NULL,
    user       TEXT    NOT NULL,
    session    TEXT    NOT NULL,
    channel    TEXT    NOT NULL,
    request_id TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    hash       BLOB    NOT NULL
) STRICT;

CREATE INDEX exchanges_scope ON exchanges (tenant, agent, user);
CREATE INDEX exchanges_at ON exchanges (at);

CREATE TABLE turns (
    n        INTEGER PRIMARY KEY,
    exchange INTEGER NOT NULL REFERENCES exchanges (n) ON DELETE CASCADE,
    role     TEXT    NOT NULL,
    text     TEXT    NOT NULL
) STRICT;

CREATE INDEX turns_exchange ON turns (exchange);

-- Which exchanges a memory was learned from.
CREATE TABLE sources (
    memory   INTEGER NOT NULL REFERENCES memories (n) ON DELETE CASCADE,
    exchange INTEGER NOT NULL REFERENCES exchanges (n) ON DELETE CASCADE,
    PRIMARY KEY (memory, exchange)
) STRICT, WITHOUT ROWID;

CREATE INDEX sources_exchange ON sources (exchange);

-- Hashes of what was forgotten: enough to know it again, not to tell it.
CREATE TABLE tombstones (
    hash BLOB    NOT NULL PRIMARY KEY,
    at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
