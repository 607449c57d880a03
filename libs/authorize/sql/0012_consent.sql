-- What people have allowed applications that ask them.
CREATE TABLE authorize.consent (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  client_id text NOT NULL,
  scopes text[] NOT NULL,
  granted_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, user_id, client_id)
);
