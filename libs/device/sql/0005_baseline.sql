-- Baseline of version 0.2.0: the whole schema as these migrations made it, with their checksums.
-- 0001_decisions.sql b20d5b34bbc9f44638862a9a76138f4a95584bdf604e439c44082fcefafaea84
-- 0002_deliveries.sql d648dbd17edd424470f4eb199cc49fe9f7563563cdaa3c436cdf979e187ed739
-- 0003_prompts.sql a174d10dd5385633ee3559773bb2fbda1502bf0b99746c8e316d4a271ebd06af
-- 0004_claim_numbers.sql 5581c9eb30536ec701c3c239f06e0217b88fc200a0bb29aa4c0aec26bc02294b
-- 0005_user_grant.sql 6997679d4c1f4b86d73efce698a94c4a4580d2ed6e4d7516d75b3114b661e5e5

-- What people decided. The first decision about a request stands, whatever Redis forgets or brings back: a device gets
-- tokens only on the strength of a row here.
CREATE TABLE device.decision (
  tenant_id text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('device_code', 'auth_req_id')),
  -- SHA-256 of the device_code or auth_req_id; the same key as the redemption marker of `token`.
  hash bytea NOT NULL CHECK (octet_length(hash) = 32),
  client_id text NOT NULL,
  decision text NOT NULL CHECK (decision IN ('approved', 'denied')),
  -- Who decided, and the session it was done in.
  user_id text NOT NULL,
  session_id text NOT NULL,
  -- Seconds since the Unix epoch.
  auth_time bigint NOT NULL,
  scopes text[] NOT NULL,
  -- Audience of the granted API scopes; empty when there are none.
  resource text NOT NULL,
  issuer text NOT NULL,
  decided_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- When the device_code or auth_req_id ends; an approval is worth nothing after it.
  expires_at timestamptz NOT NULL,
  -- The grant of an approved request as one value (tessera.oauth.v1.UserGrant); null of a denied one.
  user_grant jsonb,
  PRIMARY KEY (tenant_id, kind, hash)
);

-- For the purge of what is long over.
CREATE INDEX decision_expires_at ON device.decision (expires_at);

-- What clients are to be told of decisions (CIBA Core section 10.2), and notification systems of tenants of requests
-- (`prompt`). A row is removed with the audit row that says how it ended, so that nothing that was decided is lost. A
-- prompt that waits for nobody has no user and is removed unsent, so that keeping it takes a start the same time as any
-- other.
CREATE TABLE device.delivery (
  delivery_id text PRIMARY KEY,
  tenant_id text NOT NULL,
  client_id text NOT NULL,
  -- SHA-256 of the auth_req_id, as in device.decision.
  hash bytea NOT NULL CHECK (octet_length(hash) = 32),
  -- Names the backchannel request; what is sealed can be opened for it alone.
  request_id text NOT NULL,
  user_id text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('ping', 'push', 'prompt')),
  outcome text NOT NULL CHECK (outcome IN ('approved', 'denied', 'failed', 'pending')),
  -- Nothing is pushed any more: always false, and `sealed_tokens` null.
  awaits_tokens boolean NOT NULL,
  -- The auth_req_id and what proves us to the client, sealed.
  sealed text NOT NULL,
  sealed_tokens text,
  -- Numbers the claims and never goes back, so that a claim whose answer was lost is void for good.
  attempts integer NOT NULL DEFAULT 0,
  -- When it may be taken next: the end of a lease or of a pause.
  due_at timestamptz NOT NULL,
  -- Nothing is tried again after it.
  expires_at timestamptz NOT NULL,
  -- Of the call that decided, for the audit trail.
  call_id text NOT NULL,
  ip_address text NOT NULL,
  -- Claims that were given back and count as no attempt.
  uncounted integer NOT NULL DEFAULT 0
);

CREATE INDEX delivery_due ON device.delivery (awaits_tokens, due_at);
-- For the purge of what nobody could be told.
CREATE INDEX delivery_expires_at ON device.delivery (expires_at);

CREATE TABLE device.audit_event (
  event_id text PRIMARY KEY,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  event text NOT NULL,
  tenant_id text,
  outcome text NOT NULL,
  reason text,
  record jsonb NOT NULL
);
