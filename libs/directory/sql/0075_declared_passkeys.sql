-- Of a passkey that was declared it is not known, before its first use, whether it can be copied to other devices. The previous version takes it
-- for one that cannot, and refuses one that can.
ALTER TABLE directory.passkey ADD COLUMN synced_known boolean NOT NULL DEFAULT true;
-- The credential IDs that were declared: each is put once, whatever became of it since.
ALTER TABLE directory.user_account ADD COLUMN declared_passkeys jsonb;
