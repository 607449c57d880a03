-- What an application proves with who it is, besides secrets, and how its ID tokens are signed. The previous version knows only secrets.
ALTER TABLE directory.application
  ADD COLUMN public_keys jsonb NOT NULL DEFAULT '[]',
  ADD COLUMN jwks_uri text NOT NULL DEFAULT '',
  ADD COLUMN trusts jsonb NOT NULL DEFAULT '[]',
  ADD COLUMN id_token_signing_algorithm text NOT NULL DEFAULT 'RS256';

-- Whom the trusts of applications are about, so that no two applications are proved by one token.
CREATE TABLE directory.trusted_subject (
  issuer text NOT NULL,
  subject text NOT NULL,
  -- Empty for the issuer of the tenant.
  audience text NOT NULL,
  tenant_id text NOT NULL,
  client_id text NOT NULL,
  PRIMARY KEY (issuer, subject, audience),
  FOREIGN KEY (tenant_id, client_id) REFERENCES directory.application ON DELETE CASCADE
);
CREATE INDEX trusted_subject_by_application ON directory.trusted_subject (tenant_id, client_id);

-- Assertions that count once, until they have expired.
CREATE TABLE directory.used_assertion (
  -- SHA-256 of application and `jti`.
  digest bytea PRIMARY KEY,
  expires_at timestamptz NOT NULL
);
CREATE INDEX used_assertion_by_expiry ON directory.used_assertion (expires_at);

-- Applications that make an issuer announce more than others: few of many.
CREATE INDEX application_with_declared_use ON directory.application (tenant_id)
  WHERE public_keys <> '[]' OR jwks_uri <> '' OR trusts <> '[]' OR id_token_signing_algorithm <> 'RS256';
