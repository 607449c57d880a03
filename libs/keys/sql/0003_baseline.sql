-- Baseline of version 0.2.0: the whole schema as these migrations made it, with their checksums.
-- 0001_signing_key.sql 89039912fa5e5dc39529803c1e9a9c31e2b82ade6fc2ac2fc0f9e84b93777eb7
-- 0002_tenant_signing_key.sql dbcf12e7152245d2b8d7e2196a1e9ad0632d494cf579aca45af73efbd4128df6
-- 0003_algorithm_signing_key.sql b2ceab8296a90d82688aa7d5e9b0badb84e8ce430a681d7545547176ca54bb95

-- Signing keys for RS256. A key is created, published (verifiers learn it), active (it signs), retired (verifiers still
-- know it). `created` keys are in no key set. Those of the shared issuer.
CREATE TABLE keys.signing_key (
  kid text PRIMARY KEY,
  state text NOT NULL DEFAULT 'created' CHECK (state IN ('created', 'published', 'active', 'retired')),
  modulus text NOT NULL,
  exponent text NOT NULL,
  -- PKCS#8 under the key-encryption key; destroyed when the key retires.
  wrapped_private_key text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  published_at timestamptz,
  activated_at timestamptz,
  retired_at timestamptz,
  tenant_id text NOT NULL DEFAULT '' CHECK (tenant_id = ''),
  algorithm text NOT NULL DEFAULT 'RS256' CHECK (algorithm = 'RS256'),
  CHECK ((state = 'retired') = (wrapped_private_key IS NULL)),
  CHECK (state = 'created' OR published_at IS NOT NULL),
  CHECK (state NOT IN ('active', 'retired') OR activated_at IS NOT NULL),
  CHECK ((state = 'retired') = (retired_at IS NOT NULL))
);

-- However many processes race, one key signs and one is next.
CREATE UNIQUE INDEX signing_key_one_active ON keys.signing_key (state) WHERE state = 'active';
CREATE UNIQUE INDEX signing_key_one_published ON keys.signing_key (state) WHERE state = 'published';

-- Those of tenants that have an issuer of their own.
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
  algorithm text NOT NULL DEFAULT 'RS256' CHECK (algorithm = 'RS256'),
  CHECK ((state = 'retired') = (wrapped_private_key IS NULL)),
  CHECK (state = 'created' OR published_at IS NOT NULL),
  CHECK (state NOT IN ('active', 'retired') OR activated_at IS NOT NULL),
  CHECK ((state = 'retired') = (retired_at IS NOT NULL))
);

CREATE UNIQUE INDEX tenant_signing_key_one_active ON keys.tenant_signing_key (tenant_id) WHERE state = 'active';
CREATE UNIQUE INDEX tenant_signing_key_one_published ON keys.tenant_signing_key (tenant_id) WHERE state = 'published';
CREATE INDEX tenant_signing_key_tenant ON keys.tenant_signing_key (tenant_id);

-- Those for other algorithms, of the shared issuer (an empty tenant_id) and of tenants.
CREATE TABLE keys.algorithm_signing_key (
  tenant_id text NOT NULL,
  algorithm text NOT NULL CHECK (algorithm <> 'RS256'),
  kid text PRIMARY KEY,
  state text NOT NULL DEFAULT 'created' CHECK (state IN ('created', 'published', 'active', 'retired')),
  -- The public members of its JWK for its key type.
  public_members jsonb NOT NULL,
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

CREATE UNIQUE INDEX algorithm_signing_key_one_active
  ON keys.algorithm_signing_key (tenant_id, algorithm) WHERE state = 'active';
CREATE UNIQUE INDEX algorithm_signing_key_one_published
  ON keys.algorithm_signing_key (tenant_id, algorithm) WHERE state = 'published';
CREATE INDEX algorithm_signing_key_tenant ON keys.algorithm_signing_key (tenant_id);

CREATE TABLE keys.audit_event (
  event_id text PRIMARY KEY,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  event text NOT NULL,
  tenant_id text,
  outcome text NOT NULL,
  reason text,
  record jsonb NOT NULL
);
