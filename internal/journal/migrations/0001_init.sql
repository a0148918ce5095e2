-- Records in the order in which they were appended, many to a row: data is a
-- sequence of records, each after its length as a varint.
CREATE TABLE log (
    n    INTEGER PRIMARY KEY,
    data BLOB    NOT NULL
) STRICT;
