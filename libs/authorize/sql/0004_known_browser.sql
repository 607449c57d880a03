-- Browsers in which a person has signed in. The value of the cookie is held only as its SHA-256.
CREATE TABLE authorize.known_browser (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  token_hash bytea NOT NULL CHECK (octet_length(token_hash) = 32),
  -- The latest sign-in of the person there.
  last_used_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, user_id, token_hash)
);

-- For the purge.
CREATE INDEX known_browser_last_used_at ON authorize.known_browser (last_used_at);
