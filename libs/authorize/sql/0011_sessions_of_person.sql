-- Outside a transaction.
-- One that was not finished may be there.
DROP INDEX CONCURRENTLY IF EXISTS authorize.session_person;
-- The sessions of a person, or of a tenant, that have not ended.
CREATE INDEX CONCURRENTLY session_person ON authorize.session (tenant_id, user_id, session_id) WHERE ended_at IS NULL;
