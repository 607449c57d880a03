-- Baseline of version 0.2.0: the whole schema as these migrations made it, with their checksums.
-- 0001_refresh_families.sql 76ccafcd806193f1fa023be193289206402d5b2dfa7b002953551932307f1466
-- 0002_revocation.sql 92a16cc2f72e5036180dd7413c5460c19a94690d65fa99a4b0c9921468b5e594
-- 0003_undelivered_successors.sql ef0e06b537dbddbe952584e3bd70b72f0ceefcfebc8d905e1f3d9ead75905c4b
-- 0004_ended_session.sql c5d38c117cfe08cbd74da35dfbac0dee5f04c629c1b4806900cd7a8a2587588b
-- 0005_hand_outs.sql 56fd5c758fa91bc6fdb1eee8159708777eed171c1b04356b921a506f3e9096ae
-- 0006_token_revocation.sql cbd16fc17a9688554fd2e2ac0ae2d480635497a446eb628b587ea20a32eb9d8c
-- 0007_requested_claims.sql 05d47133451900dedf019a72a55ce099c7d2cfc9b4f9338e438916dd47caf2e5
-- 0009_user_grant.sql 70a231e8f52b71c525fec498e19f420cd1fac1170fd2871ca69ddf403cca7a61
-- 0010_announcements.sql b7588da8db26a83b86c3422dcd17539e55f3c962c9ab841f8501ebeb396cecf4
-- 0011_families_of_person.sql 243e25e8482aa0bbda5782f9c6d29fabb3deea2da99abef910a3f4d074068ac0

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
  -- What the last rotation changed: put back when its successor could not be handed out, so that a refused refresh
  -- neither makes a family live longer nor its token look younger.
  previous_rotated_at timestamptz,
  previous_idle_expires_at timestamptz,
  -- How many attempts hold the live generation and have not failed: the one that made it, and those that fetched it
  -- again. It counts as not handed out only once every one of them failed.
  hand_outs integer NOT NULL DEFAULT 1,
  -- Claims that the authorization request asked for beside those of its scopes (OIDC Core section 5.5), for /userinfo and
  -- the ID token.
  userinfo_claims text[] NOT NULL DEFAULT '{}',
  id_token_claims text[] NOT NULL DEFAULT '{}',
  -- The grant of a family as one value (tessera.oauth.v1.UserGrant); null in a family that version 0.1 started.
  user_grant jsonb,
  PRIMARY KEY (tenant_id, family_id),
  CHECK ((revoked_at IS NULL) = (revoked_cause IS NULL)),
  CHECK (idle_expires_at <= absolute_expires_at)
) WITH (fillfactor = 70);

-- Revocation and introspection by callers without credentials know no tenant.
CREATE UNIQUE INDEX refresh_family_id ON token.refresh_family (family_id);
CREATE INDEX refresh_family_absolute_expiry ON token.refresh_family (absolute_expires_at);
-- The families of a person, of a tenant and of an application that were not revoked. A rotation changes none of these
-- columns.
CREATE INDEX refresh_family_person ON token.refresh_family (tenant_id, user_id, family_id) WHERE revoked_at IS NULL;
CREATE INDEX refresh_family_client ON token.refresh_family (tenant_id, client_id, family_id) WHERE revoked_at IS NULL;

-- The arbiter of every one-time value: who inserts the marker has redeemed it.
CREATE TABLE token.redemption (
  tenant_id text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('authorization_code', 'device_code', 'auth_req_id')),
  -- SHA-256 of the value.
  hash bytea NOT NULL CHECK (octet_length(hash) = 32),
  -- The family the redemption started; null when it issued no refresh token.
  family_id uuid,
  redeemed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The access token that the redemption issued, so that a replay of the code can revoke it.
  client_id text,
  user_id text,
  session_id text,
  -- `aud` of the access token.
  audience text,
  -- `jti` of the access token.
  token_id text,
  token_revoked_at timestamptz,
  PRIMARY KEY (tenant_id, kind, hash)
);

CREATE INDEX redemption_redeemed_at ON token.redemption (redeemed_at);

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
  resource text NOT NULL,
  -- `jti` of a revoked access token; its row has the nil UUID as family. Null in the row of a family.
  token_id text
);
CREATE INDEX revocation_recorded_at ON token.revocation (recorded_at);

-- Everything after this sequence is still on record.
CREATE TABLE token.revocation_horizon (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  sequence bigint NOT NULL DEFAULT 0
);
INSERT INTO token.revocation_horizon DEFAULT VALUES;

-- Tells every process that follows this record of a row that was committed, so that none has to ask ten times a second.
-- For each row: a statement that writes none must not take the lock of NOTIFY.
CREATE FUNCTION token.announce_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('tessera_change', TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME);
  RETURN NULL;
END
$$;
CREATE TRIGGER announce_change AFTER INSERT ON token.revocation
  FOR EACH ROW EXECUTE FUNCTION token.announce_change();

-- Sessions that a person ended: their codes are not redeemed any more, whatever the short-lived store of codes still
-- has. Written before the person is told so. Kept for longer than any code lives.
CREATE TABLE token.ended_session (
  tenant_id text NOT NULL,
  session_id text NOT NULL,
  ended_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, session_id)
);
CREATE INDEX ended_session_ended_at ON token.ended_session (ended_at);

CREATE TABLE token.audit_event (
  event_id text PRIMARY KEY,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  event text NOT NULL,
  tenant_id text,
  outcome text NOT NULL,
  reason text,
  record jsonb NOT NULL
);
