-- Standard claims of a user beside name, e-mail address and phone number, by the keys of the declared state. Processes of the version
-- before leave them as they are.
ALTER TABLE directory.user_account ADD COLUMN standard_claims jsonb NOT NULL DEFAULT '{}';
