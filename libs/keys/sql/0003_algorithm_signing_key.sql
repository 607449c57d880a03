-- The signing keys for algorithms other than RS256, of the shared issuer (an empty tenant_id) and of tenants. A table beside `signing_key`
-- and `tenant_signing_key`, because processes of version 0.1 take every active key there for RS256.
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

-- All three tables name the algorithm.
ALTER TABLE keys.signing_key ADD COLUMN algorithm text NOT NULL DEFAULT 'RS256' CHECK (algorithm = 'RS256');
ALTER TABLE keys.tenant_signing_key ADD COLUMN algorithm text NOT NULL DEFAULT 'RS256' CHECK (algorithm = 'RS256');
