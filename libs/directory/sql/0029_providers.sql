-- The OpenID providers of tenants. `sealed_secret` is the client secret, encrypted. A process of the version before deletes a tenant without
-- looking here, so its rows go with it.
CREATE TABLE directory.provider (
  tenant_id text NOT NULL REFERENCES directory.tenant ON DELETE CASCADE,
  name text NOT NULL,
  preset text NOT NULL,
  issuer text NOT NULL,
  client_id text NOT NULL,
  sealed_secret text NOT NULL,
  display_name text NOT NULL,
  scopes text[] NOT NULL,
  domains text[] NOT NULL,
  linking text NOT NULL,
  creates_accounts boolean NOT NULL,
  owner text NOT NULL,
  PRIMARY KEY (tenant_id, name)
);
