-- What sign-ins for an application need at least. The previous version asks for what its tenant says.
ALTER TABLE directory.application ADD COLUMN authentication_policy text NOT NULL DEFAULT 'any';
