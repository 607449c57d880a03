-- Whether an application asks people for their consent. The previous version asks nobody.
ALTER TABLE directory.application ADD COLUMN third_party boolean NOT NULL DEFAULT false;
