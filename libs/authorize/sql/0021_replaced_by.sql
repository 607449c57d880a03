-- Outside a transaction.
-- One that was not finished may be there.
DROP INDEX CONCURRENTLY IF EXISTS authorize.session_replaces;
-- Refresh tokens of a session that a later sign-in of the same person replaced ask for the later one.
CREATE INDEX CONCURRENTLY session_replaces ON authorize.session (replaces) WHERE replaces IS NOT NULL;
