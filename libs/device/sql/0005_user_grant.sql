-- The grant of an approved request as one value (tessera.oauth.v1.UserGrant); null from the previous version.
ALTER TABLE device.decision ADD COLUMN user_grant jsonb;
