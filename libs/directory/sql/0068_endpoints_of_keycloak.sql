-- By what paths the endpoints of a tenant's own issuer are found.
ALTER TABLE directory.tenant ADD COLUMN endpoints text NOT NULL DEFAULT 'standard' CHECK (endpoints IN ('standard', 'keycloak'));
