-- When an administrator last ended the lock after too many guesses, in milliseconds; 0 for never. The previous version does not count by it.
ALTER TABLE directory.user_account ADD COLUMN unlocked_at bigint NOT NULL DEFAULT 0;
