-- People may be given their identifier, as when they come from another product. The previous version finds them, and gives nobody one.
ALTER TABLE directory.user_account DROP CONSTRAINT user_account_user_id_check;
-- What people were given: nobody else of the tenant ever gets it, as applications store the subject of tokens.
CREATE TABLE directory.given_user_id (
  tenant_id text NOT NULL REFERENCES directory.tenant,
  user_id text NOT NULL CHECK (user_id <> '' AND user_id NOT LIKE 'usr\_%' AND octet_length(user_id) <= 255),
  PRIMARY KEY (tenant_id, user_id)
);
