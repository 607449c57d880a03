-- Outside a transaction.
-- One that was not finished may be there.
DROP INDEX CONCURRENTLY IF EXISTS token.refresh_family_session;
-- The families that end with a session. A rotation changes none of these columns.
CREATE INDEX CONCURRENTLY refresh_family_session ON token.refresh_family (tenant_id, session_id)
  WHERE revoked_at IS NULL AND NOT scopes @> '{offline_access}';
