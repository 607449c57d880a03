-- Signing keys. A key is created, published (verifiers learn it), active (it signs), retired (verifiers still know it).
-- `created` keys are in no key set.
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
  CHECK ((state = 'retired') = (wrapped_private_key IS NULL)),
  CHECK (state = 'created' OR published_at IS NOT NULL),
  CHECK (state NOT IN ('active', 'retired') OR activated_at IS NOT NULL),
  CHECK ((state = 'retired') = (retired_at IS NOT NULL))
);

-- However many processes race, one key signs and one is next.
CREATE UNIQUE INDEX signing_key_one_active ON keys.signing_key (state) WHERE state = 'active';
CREATE UNIQUE INDEX signing_key_one_published ON keys.signing_key (state) WHERE state = 'published';

CREATE TABLE keys.audit_event (
  event_id text PRIMARY KEY,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  event text NOT NULL,
  tenant_id text,
  outcome text NOT NULL,
  reason text,
  record jsonb NOT NULL
);
