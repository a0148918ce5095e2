-- What memories are about. An entity is a name within one scope: id is the
-- start of a hash of both, so that no two scopes share one and none has to be
-- looked up. name is folded, label as it was first written.
CREATE TABLE entities (
    id     BLOB NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    agent  TEXT NOT NULL,
    user   TEXT NOT NULL,
    name   TEXT NOT NULL,
    label  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX entities_scope ON entities (tenant, agent, user);

CREATE TABLE mentions (
    entity BLOB    NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    memory INTEGER NOT NULL REFERENCES memories (n) ON DELETE CASCADE,
    PRIMARY KEY (entity, memory)
) STRICT, WITHOUT ROWID;

CREATE INDEX mentions_memory ON mentions (memory);

-- An entity goes with the last memory that mentions it, whatever deletes that.
CREATE TRIGGER mentions_last AFTER DELETE ON mentions
WHEN NOT EXISTS (SELECT 1 FROM mentions WHERE entity = OLD.entity)
BEGIN
    DELETE FROM entities WHERE id = OLD.entity;
END;

-- How a memory stands to an older one of its scope: related_to, updates,
-- contradicts, caused_by, result_of, part_of.
CREATE TABLE edges (
    source INTEGER NOT NULL REFERENCES memories (n) ON DELETE CASCADE,
    target INTEGER NOT NULL REFERENCES memories (n) ON DELETE CASCADE,
    kind   TEXT    NOT NULL,
    PRIMARY KEY (source, target, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX edges_target ON edges (target);
