-- The signing keys of tenants that have an issuer of their own. A table beside `signing_key`, because processes of the version before
-- take every active key there for the one of the shared issuer.
ALTER TABLE keys.signing_key ADD COLUMN tenant_id text NOT NULL DEFAULT '' CHECK (tenant_id = '');

CREATE TABLE keys.tenant_signing_key (
  tenant_id text NOT NULL CHECK (tenant_id <> ''),
  kid text PRIMARY KEY,
  state text NOT NULL DEFAULT 'created' CHECK (state IN ('created', 'published', 'active', 'retired')),
  modulus text NOT NULL,
  exponent text NOT NULL,
  wrapped_private_key text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  published_at timestamptz,
  activated_at timestamptz,
  retired_at timestamptz,
  CHECK ((state = 'retired') = (wrapped_private_key IS NULL)),
  CHECK (state = 'created' OR published_at IS NOT NULL),
  CHECK (state NOT IN ('active', 'retired') OR activated_at IS NOT NULL),
  CHECK ((state = 'retired') = (retired_at IS NOT NULL))
);

CREATE UNIQUE INDEX tenant_signing_key_one_active ON keys.tenant_signing_key (tenant_id) WHERE state = 'active';
CREATE UNIQUE INDEX tenant_signing_key_one_published ON keys.tenant_signing_key (tenant_id) WHERE state = 'published';
CREATE INDEX tenant_signing_key_tenant ON keys.tenant_signing_key (tenant_id);
