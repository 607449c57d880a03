-- Who may make an account. The previous version lets nobody.
ALTER TABLE directory.tenant ADD COLUMN registration text NOT NULL DEFAULT 'closed';
ALTER TABLE directory.tenant ADD COLUMN registration_domains text[] NOT NULL DEFAULT '{}';
-- One-time links with which people make accounts. `identifier` is the address as identifiers are compared; only the SHA-256 of a link is stored.
CREATE TABLE directory.registration_link (
  tenant_id text NOT NULL REFERENCES directory.tenant ON DELETE CASCADE,
  identifier text NOT NULL,
  digest bytea NOT NULL UNIQUE,
  email text NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, identifier)
);
CREATE INDEX registration_link_expires_at ON directory.registration_link (expires_at);
