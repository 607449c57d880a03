-- Outside a transaction.
-- Those that were not finished may be there.
DROP INDEX CONCURRENTLY IF EXISTS directory.user_role_holders;
CREATE INDEX CONCURRENTLY user_role_holders ON directory.user_role (tenant_id, role, user_id);
DROP INDEX CONCURRENTLY IF EXISTS directory.user_account_not_active;
CREATE INDEX CONCURRENTLY user_account_not_active ON directory.user_account (tenant_id, status, user_id) WHERE status <> 'active';
DROP INDEX CONCURRENTLY IF EXISTS directory.provider_identity_people;
CREATE INDEX CONCURRENTLY provider_identity_people ON directory.provider_identity (tenant_id, provider, user_id);
