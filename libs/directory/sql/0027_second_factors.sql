-- What every sign-in of a tenant's people needs.
ALTER TABLE directory.tenant ADD COLUMN authentication_policy text NOT NULL DEFAULT 'any';
-- Authenticator apps (RFC 6238). `sealed` is the secret, encrypted; a code of `last_step` or an earlier time step is used up. A deleted person
-- who is brought back has theirs again, so there is no foreign key.
CREATE TABLE directory.totp (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  sealed text NOT NULL,
  last_step bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, user_id)
);
-- Codes in place of a lost app, each used once. Only their keyed digests are stored.
CREATE TABLE directory.recovery_code (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  digest bytea NOT NULL,
  PRIMARY KEY (tenant_id, user_id, digest)
);
