-- The access token that a redemption issued, so that a replay of the code can revoke it. Null in rows of an earlier version.
ALTER TABLE token.redemption
  ADD COLUMN client_id text,
  ADD COLUMN user_id text,
  ADD COLUMN session_id text,
  -- `aud` of the access token.
  ADD COLUMN audience text,
  -- `jti` of the access token.
  ADD COLUMN token_id text,
  ADD COLUMN token_revoked_at timestamptz;

-- `jti` of a revoked access token; its row has the nil UUID as family. Null in the row of a family.
ALTER TABLE token.revocation ADD COLUMN token_id text;
