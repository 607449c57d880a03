-- Attributes of a user, and the claims that an application maps from them, by the keys of the declared state. Processes of the version
-- before leave them as they are.
ALTER TABLE directory.user_account ADD COLUMN attributes jsonb NOT NULL DEFAULT '{}';
ALTER TABLE directory.application ADD COLUMN claims jsonb NOT NULL DEFAULT '{}';
