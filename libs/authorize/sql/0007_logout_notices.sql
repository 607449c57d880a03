-- The applications that got a code in the session and want to know of its end (OIDC Back-Channel Logout): by client id, the
-- `sid` and `iss` that each got last. A session that replaces another one of the same person takes them over.
ALTER TABLE authorize.session ADD COLUMN participants jsonb NOT NULL DEFAULT '{}';

-- Sessions to be checked when a person changes.
CREATE INDEX session_participants ON authorize.session (tenant_id, user_id)
  WHERE ended_at IS NULL AND participants <> '{}';

-- Pending notices of ended sessions. A row is written in the commit that ends the session and removed with the audit row of its
-- outcome.
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
