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
  PRIMARY KEY (tenant_id, kind, hash)
);

-- For the purge of what is long over.
CREATE INDEX decision_expires_at ON device.decision (expires_at);

CREATE TABLE device.audit_event (
  event_id text PRIMARY KEY,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  event text NOT NULL,
  tenant_id text,
  outcome text NOT NULL,
  reason text,
  record jsonb NOT NULL
);
