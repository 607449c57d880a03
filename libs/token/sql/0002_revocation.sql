-- Refresh families that were revoked, in the order of the commits: every writer holds one advisory lock from before its
-- row here until it has committed. Written in the statement that revokes; what others are told of comes from here.
CREATE TABLE token.revocation (
  sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  tenant_id text NOT NULL,
  family_id uuid NOT NULL,
  client_id text NOT NULL,
  user_id text NOT NULL,
  session_id text NOT NULL,
  -- Audience of the granted API scopes; empty when there are none.
  resource text NOT NULL
);
CREATE INDEX revocation_recorded_at ON token.revocation (recorded_at);

-- Everything after this sequence is still on record.
CREATE TABLE token.revocation_horizon (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  sequence bigint NOT NULL DEFAULT 0
);
INSERT INTO token.revocation_horizon DEFAULT VALUES;
