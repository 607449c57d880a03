-- The header typ of a resource's access tokens and the form of their scope claim. Processes of the version before leave them as they
-- are and issue tokens in the default shape.
ALTER TABLE directory.api_resource
  ADD COLUMN token_type text NOT NULL DEFAULT 'at+jwt' CHECK (token_type IN ('at+jwt', 'JWT')),
  ADD COLUMN scope_format text NOT NULL DEFAULT 'array' CHECK (scope_format IN ('array', 'string'));
