-- Outside a transaction.
-- One that was not finished may be there.
DROP INDEX CONCURRENTLY IF EXISTS token.refresh_family_person;
DROP INDEX CONCURRENTLY IF EXISTS token.refresh_family_client;
-- The families of a person, of a tenant and of an application that were not revoked. A rotation changes none of these columns.
CREATE INDEX CONCURRENTLY refresh_family_person ON token.refresh_family (tenant_id, user_id, family_id)
  WHERE revoked_at IS NULL;
CREATE INDEX CONCURRENTLY refresh_family_client ON token.refresh_family (tenant_id, client_id, family_id)
  WHERE revoked_at IS NULL;
