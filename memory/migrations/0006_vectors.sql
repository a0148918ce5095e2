-- What the embedder's model makes of a memory, an int8 for each dimension.
-- Vectors of different models or dimensions are never compared.
CREATE TABLE vectors (
    memory INTEGER NOT NULL PRIMARY KEY REFERENCES memories (n) ON DELETE CASCADE,
    model  TEXT    NOT NULL,
    dim    INTEGER NOT NULL,
    vector BLOB    NOT NULL
) STRICT;
