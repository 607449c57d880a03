-- Outside a transaction.
-- One that was not finished may be there.
DROP INDEX CONCURRENTLY IF EXISTS authorize.consent_application;
-- What an application was allowed, by whom.
CREATE INDEX CONCURRENTLY consent_application ON authorize.consent (tenant_id, client_id, user_id);
