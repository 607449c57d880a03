-- What the claims of a provider decide about its people, at each sign-in, and whether its factors count.
ALTER TABLE directory.provider
  ADD COLUMN role_mappings jsonb NOT NULL DEFAULT '[]',
  ADD COLUMN attribute_mappings jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN trusts_factors boolean NOT NULL DEFAULT false;
