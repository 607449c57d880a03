-- Of whom the access tokens of an application may write records by the administration API; empty is api. The previous version lets them write all.
ALTER TABLE directory.application ADD COLUMN owners text[] NOT NULL DEFAULT '{}';
