-- Interactive sessions and their ends. The value of the session cookie is held only as its SHA-256.
CREATE TABLE authorize.session (
  -- The `sid` claim; public, and unrelated to the cookie.
  session_id text PRIMARY KEY,
  token_hash bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  auth_time timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  -- Written at most once a minute; the idle limit counts from here.
  last_seen_at timestamptz NOT NULL,
  -- The absolute end; it never moves.
  expires_at timestamptz NOT NULL,
  ended_at timestamptz,
  end_reason text,
  ip_address text NOT NULL,
  user_agent_hash text NOT NULL,
  CHECK ((ended_at IS NULL) = (end_reason IS NULL))
);

-- For the purge of what is long over.
CREATE INDEX session_expires_at ON authorize.session (expires_at);

CREATE TABLE authorize.audit_event (
  event_id text PRIMARY KEY,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  event text NOT NULL,
  tenant_id text,
  outcome text NOT NULL,
  reason text,
  record jsonb NOT NULL
);
