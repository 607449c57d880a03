-- Outside a transaction.
-- One that was not finished may be there.
DROP INDEX CONCURRENTLY IF EXISTS directory.mail_of_tenant;
-- The mail of a tenant, or of a person, that waits.
CREATE INDEX CONCURRENTLY mail_of_tenant ON directory.mail (tenant_id, user_id, mail_id);
