-- Who signed in with which identity of a provider. `subject` and `issuer` are its `sub` and `iss`. One identity is one person's, and a person
-- has one identity at a provider: an address that a company gives to somebody else does not lead to the person who had it before. A deleted
-- person who is brought back has theirs again.
CREATE TABLE directory.provider_identity (
  tenant_id text NOT NULL REFERENCES directory.tenant ON DELETE CASCADE,
  provider text NOT NULL,
  issuer text NOT NULL,
  subject text NOT NULL,
  user_id text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, provider, issuer, subject),
  UNIQUE (tenant_id, user_id, provider, issuer)
);
