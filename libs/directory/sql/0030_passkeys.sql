-- Passkeys (WebAuthn Level 3 §4, credential record). `credential_id` and `user_handle` are base64url; `synced` ones can be copied to other
-- devices. A deleted person who is brought back has theirs again, so there is no foreign key.
CREATE TABLE directory.passkey (
  tenant_id text NOT NULL,
  credential_id text NOT NULL,
  user_id text NOT NULL,
  user_handle text NOT NULL,
  rp_id text NOT NULL,
  public_key bytea NOT NULL,
  sign_count bigint NOT NULL,
  transports text[] NOT NULL,
  synced boolean NOT NULL,
  backed_up boolean NOT NULL,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_used_at timestamptz,
  PRIMARY KEY (tenant_id, credential_id)
);
CREATE INDEX passkey_of_user ON directory.passkey (tenant_id, user_id);
-- Challenges that were answered (§13.4.3): each is accepted once. They are kept for longer than any visit lasts.
CREATE TABLE directory.used_challenge (
  tenant_id text NOT NULL,
  digest bytea NOT NULL,
  used_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, digest)
);
CREATE INDEX used_challenge_used_at ON directory.used_challenge (used_at);
