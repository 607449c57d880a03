-- Baseline of version 0.2.0: the whole schema as these migrations made it, with their checksums.
-- 0001_sessions.sql a4fc574e5ee511d3d3779be51a3979cb4549582d2c4f835410d97d7ed3a7f463
-- 0002_session_end.sql f1c8bd36c68944d640ac84bffe913fb194fe8f1fceb95943dc2185efb5446dae
-- 0003_replaced_session.sql 14094b0f9302875f226a250d9e072c52f5ab3a60af0ba75f01eee213515b8006
-- 0004_known_browser.sql d21c572c4b4582c471170018b3fe5c68984f97396a5bcce6674f12c6e5e79c32
-- 0007_logout_notices.sql 6310da602f5001e9491d5253c796b9e2b76251ef6149b921128e26aa4a299bbb
-- 0009_authentication_methods.sql 7bd8e5aede6999e8d703cc74108ba37ad8a8584800163ff6e0d0874ea241b313
-- 0010_announcements.sql 68abab165fad562f85f3c8395d368eec423702a4065cf890988741895799251d
-- 0011_sessions_of_person.sql 3d88d261362a299366d773f2795c8ab03b3c28977f1640608f07c91d624409f7
-- 0012_consent.sql 476b1b8b3e0cb9a25a073506d8e24af9a02a1bd138dc6b186298d66798cc39a4
-- 0013_user_agent.sql 0cbf9fd2b2c9820b86fc509c5d13859ebf10bf9bf2162026a6172302ec7d1d4a
-- 0014_used_values.sql 9d5ef10b84a5f889293e830314868eb692a8a983b3939135dfa285503947f5a4
-- 0015_activity.sql ad2f53a745dff0a30596f27742e203bf24e3f751beec5ea54c15aab7023386b6
-- 0016_upstream_session.sql f949bf29a69fe56b794312acd98e246f59695bdfb2ec9b42306b6f61b098848a
-- 0017_upstream_session_index.sql 2b0fd556b3ccee1f3ee2726ba3358e1c1255cfbdcc5cc7174145b821eedb15c9
-- 0018_denied_consent.sql 94dacf12fd1377183dcd962e0ed68139275fda391981232b15306b5ff34d2552
-- 0019_signed_in_consent.sql 3fa5fd970327b6e8f73b7630799fa4f8fee92100d09567a874e655f93e373cbe
-- 0020_consents_of_application.sql 6f7d87b86a9cd927b6e1a7b727a47992804008b40aa1cf75f56ff7b9aad87d59

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
  -- The session of the same person that this one took the place of in their browser; its codes end with this one.
  replaces text,
  -- The applications that got a code in the session and want to know of its end (OIDC Back-Channel Logout): by client
  -- id, the `sid` and `iss` that each got last. A session that replaces another one of the same person takes them over.
  participants jsonb NOT NULL DEFAULT '{}',
  -- How the person signed in: the `amr` claim (RFC 8176 section 2).
  methods text[] NOT NULL DEFAULT '{pwd}',
  -- What the browser said it is when its person signed in, so that they recognize it.
  user_agent text NOT NULL DEFAULT '',
  -- The session at a provider that a session was made with: `provider`, `issuer`, `subject`, perhaps `sid` (OIDC
  -- Back-Channel Logout) and `hint`, its ID token, encrypted under a cookie of the browser.
  upstream jsonb,
  CHECK ((ended_at IS NULL) = (end_reason IS NULL))
);

-- For the purge of what is long over.
CREATE INDEX session_expires_at ON authorize.session (expires_at);
-- Sessions to be checked when a person changes.
CREATE INDEX session_participants ON authorize.session (tenant_id, user_id)
  WHERE ended_at IS NULL AND participants <> '{}';
-- The sessions of a person, or of a tenant, that have not ended.
CREATE INDEX session_person ON authorize.session (tenant_id, user_id, session_id) WHERE ended_at IS NULL;
-- The sessions that a provider says are over.
CREATE INDEX session_upstream_sid
  ON authorize.session (tenant_id, (upstream ->> 'provider'), (upstream ->> 'sid'))
  WHERE ended_at IS NULL AND upstream IS NOT NULL;
CREATE INDEX session_upstream_subject
  ON authorize.session (tenant_id, (upstream ->> 'provider'), (upstream ->> 'subject'))
  WHERE ended_at IS NULL AND upstream IS NOT NULL;

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

-- Tells every process that follows this record of a row that was committed, so that none has to ask ten times a second.
-- For each row: a statement that writes none must not take the lock of NOTIFY.
CREATE FUNCTION authorize.announce_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('tessera_change', TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME);
  RETURN NULL;
END
$$;
CREATE TRIGGER announce_change AFTER INSERT ON authorize.session_end
  FOR EACH ROW EXECUTE FUNCTION authorize.announce_change();

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

-- Pending notices of ended sessions. A row is written in the commit that ends the session and removed with the audit
-- row of its outcome.
CREATE TABLE authorize.logout_notice (
  -- The `jti` of its logout tokens.
  notice_id text PRIMARY KEY,
  tenant_id text NOT NULL,
  client_id text NOT NULL,
  user_id text NOT NULL,
  session_id text NOT NULL,
  issuer text NOT NULL,
  -- Of the call that ended the session.
  request_id text NOT NULL,
  -- Numbers the claims and never goes back.
  attempts integer NOT NULL DEFAULT 0,
  -- Claims that were given back and count as no attempt.
  uncounted integer NOT NULL DEFAULT 0,
  -- When it may be claimed next: the end of a lease or of a pause.
  due_at timestamptz NOT NULL,
  -- Nothing is tried again after it.
  expires_at timestamptz NOT NULL
);
CREATE INDEX logout_notice_due ON authorize.logout_notice (due_at);
CREATE INDEX logout_notice_expires_at ON authorize.logout_notice (expires_at);

-- What people have allowed applications that ask them.
CREATE TABLE authorize.consent (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  client_id text NOT NULL,
  scopes text[] NOT NULL,
  granted_at timestamptz NOT NULL,
  -- The visit in which a person denied what they are asked, so that no form of it allows the same.
  denied_visit bytea,
  -- When the person signed in who gave the consent; null for one that was recorded without it.
  signed_in_at timestamptz,
  PRIMARY KEY (tenant_id, user_id, client_id)
);
-- What an application was allowed, by whom.
CREATE INDEX consent_application ON authorize.consent (tenant_id, client_id, user_id);

-- What is accepted once until it expires: answers of providers. The key is a digest.
CREATE TABLE authorize.used_value (
  digest bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
  expires_at timestamptz NOT NULL
);
CREATE INDEX used_value_expires_at ON authorize.used_value (expires_at);

CREATE TABLE authorize.audit_event (
  event_id text PRIMARY KEY,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  event text NOT NULL,
  tenant_id text,
  outcome text NOT NULL,
  reason text,
  record jsonb NOT NULL
);
-- What people see of what happened to their accounts. Other events, of which there are many, are not in it.
CREATE INDEX audit_event_of_person ON authorize.audit_event (tenant_id, (record ->> 'subject'), event_id)
  WHERE event IN ('auth.login.succeeded', 'consent.granted', 'consent.revoked');
