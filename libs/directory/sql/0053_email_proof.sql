-- Who proved that the e-mail address of a person is theirs: an OpenID provider, by name and issuer, or, with both empty, a link that was mailed
-- there. `identifier` is the address as identifiers are compared. A row is of that address alone, so that one which the previous version
-- changes has none. Without a row an administrator says that the address is verified, or nobody knows who did.
CREATE TABLE directory.email_proof (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  identifier text NOT NULL,
  provider text NOT NULL,
  issuer text NOT NULL,
  PRIMARY KEY (tenant_id, user_id),
  FOREIGN KEY (tenant_id, user_id) REFERENCES directory.user_account ON DELETE CASCADE
);
