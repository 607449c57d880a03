-- One-time links with which people set their passwords. Only the SHA-256 of a link is stored. A link ends with what was issued to its
-- person before it was made: `valid_from` is the time that user and tenant had then.
CREATE TABLE directory.password_link (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  purpose text NOT NULL CHECK (purpose IN ('invitation', 'reset')),
  digest bytea NOT NULL UNIQUE,
  valid_from bigint NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, user_id, purpose),
  FOREIGN KEY (tenant_id, user_id) REFERENCES directory.user_account ON DELETE CASCADE
);
CREATE INDEX password_link_expires_at ON directory.password_link (expires_at);
