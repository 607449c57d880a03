-- Ways to sign in that a tenant allows besides the usual ones. The previous version offers none of them.
ALTER TABLE directory.tenant ADD COLUMN sign_in_methods text[] NOT NULL DEFAULT '{}';
-- Values that work once and are short enough to be guessed, so that a row counts the tries and says whether it was used. `holder` is whose it is,
-- and has one value of a kind at a time. `digest` is keyed. `kept` is what the use of the value tells.
CREATE TABLE directory.one_time_value (
  tenant_id text NOT NULL REFERENCES directory.tenant ON DELETE CASCADE,
  kind text NOT NULL,
  holder text NOT NULL,
  digest bytea NOT NULL,
  kept text NOT NULL,
  tries integer NOT NULL DEFAULT 0,
  used boolean NOT NULL DEFAULT false,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, kind, holder)
);
CREATE INDEX one_time_value_expires_at ON directory.one_time_value (expires_at);
