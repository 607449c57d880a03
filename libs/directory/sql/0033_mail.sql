-- Mail that waits to be sent, kept with the change that it announces. `sealed` is what only its sender needs, encrypted; the row is deleted once
-- the mail is sent. `claim` is the number of the last claim, of which `uncounted` were no attempts. Kinds that end with `-request` are what
-- people asked for, before anybody looked whether there is such an account. A process of the version before deletes a tenant without looking
-- here, so its rows go with it.
CREATE TABLE directory.mail (
  mail_id text PRIMARY KEY,
  tenant_id text NOT NULL REFERENCES directory.tenant ON DELETE CASCADE,
  -- Empty if nobody has an account yet.
  user_id text NOT NULL,
  kind text NOT NULL,
  sealed text NOT NULL,
  claim integer NOT NULL DEFAULT 0,
  uncounted integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  due_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX mail_due_at ON directory.mail (due_at);
CREATE INDEX mail_expires_at ON directory.mail (expires_at);
-- How much mail people asked for, by the keyed digest of its address and hour by hour, so that nobody is flooded.
CREATE TABLE directory.mail_quota (
  tenant_id text NOT NULL REFERENCES directory.tenant ON DELETE CASCADE,
  recipient bytea NOT NULL,
  since timestamptz NOT NULL,
  mails integer NOT NULL,
  PRIMARY KEY (tenant_id, recipient)
);
CREATE INDEX mail_quota_since ON directory.mail_quota (since);
