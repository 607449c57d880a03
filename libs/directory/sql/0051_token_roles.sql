-- The roles that the tokens of an application, and the access tokens of a resource, may name; empty is all. The previous version names all.
ALTER TABLE directory.application ADD COLUMN roles text[] NOT NULL DEFAULT '{}';
ALTER TABLE directory.api_resource ADD COLUMN roles text[] NOT NULL DEFAULT '{}';
