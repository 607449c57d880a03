-- Sessions that were ended, in the order of the commits: every writer holds one advisory lock from before its row here
-- until it has committed.
CREATE TABLE authorize.session_end (
  sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  tenant_id text NOT NULL,
  session_id text NOT NULL,
  user_id text NOT NULL
);
CREATE INDEX session_end_recorded_at ON authorize.session_end (recorded_at);

-- Everything after this sequence is still on record.
CREATE TABLE authorize.session_end_horizon (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  sequence bigint NOT NULL DEFAULT 0
);
INSERT INTO authorize.session_end_horizon DEFAULT VALUES;
