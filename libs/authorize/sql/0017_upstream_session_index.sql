-- Outside a transaction.
-- One that was not finished may be there.
DROP INDEX CONCURRENTLY IF EXISTS authorize.session_upstream_sid;
DROP INDEX CONCURRENTLY IF EXISTS authorize.session_upstream_subject;
-- The sessions that a provider says are over.
CREATE INDEX CONCURRENTLY session_upstream_sid ON authorize.session (tenant_id, (upstream ->> 'provider'), (upstream ->> 'sid'))
  WHERE ended_at IS NULL AND upstream IS NOT NULL;
CREATE INDEX CONCURRENTLY session_upstream_subject ON authorize.session (tenant_id, (upstream ->> 'provider'), (upstream ->> 'subject'))
  WHERE ended_at IS NULL AND upstream IS NOT NULL;
