-- Outside a transaction.
-- One that was not finished may be there.
DROP INDEX CONCURRENTLY IF EXISTS directory.user_account_preferred_username;
-- Whether somebody is known by a name that another one wants to sign in with, without a look at everybody of the tenant.
CREATE INDEX CONCURRENTLY user_account_preferred_username
  ON directory.user_account (tenant_id, lower(standard_claims ->> 'preferredUsername'))
  WHERE standard_claims ? 'preferredUsername';
