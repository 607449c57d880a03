-- One-time links that confirm an e-mail address of a person. Only the SHA-256 of a link is stored.
CREATE TABLE directory.email_link (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  digest bytea NOT NULL UNIQUE,
  email text NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, user_id),
  FOREIGN KEY (tenant_id, user_id) REFERENCES directory.user_account ON DELETE CASCADE
);
CREATE INDEX email_link_expires_at ON directory.email_link (expires_at);
