-- HMAC-SHA-256, with a key outside the database, of what a create asked for, so that its request identifier is taken for no other content.
-- Null where the previous version kept it: then the record alone tells.
ALTER TABLE directory.create_request ADD COLUMN digest bytea;
