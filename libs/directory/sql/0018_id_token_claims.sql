-- Scopes whose claims an application gets in its ID tokens too. Processes of the previous version leave the column as it is and issue ID
-- tokens without these claims.
ALTER TABLE directory.application ADD COLUMN id_token_claims text[] NOT NULL DEFAULT '{}';
