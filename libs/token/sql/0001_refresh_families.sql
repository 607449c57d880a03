CREATE SCHEMA IF NOT EXISTS token;

-- One row per family, not per token: the token itself carries family and generation under a MAC, so nothing here can be
-- turned into a usable token, and rotations do not grow the table. No index covers a column that a rotation changes and
-- the pages keep free room, so that rotations stay heap-only updates.
CREATE TABLE token.refresh_family (
  tenant_id text NOT NULL,
  family_id uuid NOT NULL,
  client_id text NOT NULL,
  user_id text NOT NULL,
  -- The one generation whose token is alive.
  generation integer NOT NULL CHECK (generation > 0),
  -- As granted at the start; a refresh narrows only the access token.
  scopes text[] NOT NULL,
  -- Audience of the granted API scopes; empty when there are none.
  resource text NOT NULL,
  session_id text NOT NULL,
  issuer text NOT NULL,
  -- Seconds since the Unix epoch.
  auth_time bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  rotated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  idle_expires_at timestamptz NOT NULL,
  absolute_expires_at timestamptz NOT NULL,
  -- The current generation was made and then not handed out, by our own doing: its predecessor may still fetch it.
  undelivered boolean NOT NULL DEFAULT false,
  revoked_at timestamptz,
  revoked_cause text CHECK (revoked_cause IN ('revoked', 'reuse_detected', 'grant_replayed')),
  revoked_reason text,
  revoked_by_ip text,
  PRIMARY KEY (tenant_id, family_id),
  CHECK ((revoked_at IS NULL) = (revoked_cause IS NULL)),
  CHECK (idle_expires_at <= absolute_expires_at)
) WITH (fillfactor = 70);

-- Revocation and introspection by callers without credentials know no tenant.
CREATE UNIQUE INDEX refresh_family_id ON token.refresh_family (family_id);
CREATE INDEX refresh_family_absolute_expiry ON token.refresh_family (absolute_expires_at);

-- The arbiter of every one-time value: who inserts the marker has redeemed it.
CREATE TABLE token.redemption (
  tenant_id text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('authorization_code', 'device_code', 'auth_req_id')),
  -- SHA-256 of the value.
  hash bytea NOT NULL CHECK (octet_length(hash) = 32),
  -- The family the redemption started; null when it issued no refresh token.
  family_id uuid,
  redeemed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, kind, hash)
);

CREATE INDEX redemption_redeemed_at ON token.redemption (redeemed_at);

CREATE TABLE token.audit_event (
  event_id text PRIMARY KEY,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  event text NOT NULL,
  tenant_id text,
  outcome text NOT NULL,
  reason text,
  record jsonb NOT NULL
);
