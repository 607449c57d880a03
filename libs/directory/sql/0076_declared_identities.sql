-- What people were declared to sign in with at providers, each as JSON of provider, issuer and subject: each is bound once, whatever became of it.
ALTER TABLE directory.user_account ADD COLUMN declared_identities jsonb;
