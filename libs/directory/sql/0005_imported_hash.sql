-- A password hash that was imported with other parameters is made anew at the next sign-in. This is the SHA-256 of what was
-- declared, so that applying the same declaration again neither counts as another password nor puts the old hash back.
ALTER TABLE directory.user_account ADD COLUMN imported_hash bytea;
