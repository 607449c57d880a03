-- The grant of a family as one value (tessera.oauth.v1.UserGrant); null in a family that the previous version started. Its
-- other columns remain for what statements compare, and for the previous version.
ALTER TABLE token.refresh_family ADD COLUMN user_grant jsonb;
