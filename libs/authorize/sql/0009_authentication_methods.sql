-- How the person signed in: the `amr` claim (RFC 8176 section 2). The previous version knows passwords only.
ALTER TABLE authorize.session ADD COLUMN methods text[] NOT NULL DEFAULT '{pwd}';
