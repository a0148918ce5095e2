-- For what opens a conversation: the newest memories of each type, and what
-- took another's place lately.
CREATE INDEX memories_brief ON memories (tenant, agent, user, type, created_at)
    WHERE status = 'active' AND valid_to IS NULL;
CREATE INDEX memories_replaced ON memories (tenant, agent, user, valid_to)
    WHERE status = 'active' AND superseded_by <> '';
