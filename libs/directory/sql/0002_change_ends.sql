-- Whether what changed was not active any more when it changed: disabled, locked or deleted. Written with the change, so
-- that who looks later still learns of an end that was taken back since.
ALTER TABLE directory.change ADD COLUMN ended boolean NOT NULL DEFAULT false;
