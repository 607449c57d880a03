-- From when sign-ins counted after an administrator last locked the account down, in seconds since the Unix epoch; 0 for never. The previous version
-- does not set it, nor count by it.
ALTER TABLE directory.user_account ADD COLUMN locked_down_at bigint NOT NULL DEFAULT 0;
