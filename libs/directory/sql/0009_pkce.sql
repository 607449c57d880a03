-- Whether an authorization request needs a code challenge (RFC 7636). Processes of before require it from everyone.
ALTER TABLE directory.application
  ADD COLUMN pkce text NOT NULL DEFAULT 'required' CHECK (pkce IN ('required', 'optional'));
