-- Why the last attempt to send a mail failed, in one word; null if none did. `sending_until` is the end of the lease of the process that sends it
-- just now, which a process of the version before does not set.
ALTER TABLE directory.mail ADD COLUMN last_error text, ADD COLUMN sending_until timestamptz;
