-- The names by which programs know people, as identifiers are compared. Names that earlier versions wrote are found by the index of 0054, as far
-- as SQL compares them.
CREATE TABLE directory.preferred_name (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  name text NOT NULL,
  PRIMARY KEY (tenant_id, user_id),
  FOREIGN KEY (tenant_id, user_id) REFERENCES directory.user_account ON DELETE CASCADE
);
CREATE INDEX preferred_name_name ON directory.preferred_name (tenant_id, name);
