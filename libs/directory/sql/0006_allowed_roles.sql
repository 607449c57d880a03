-- Roles of the tenant of which a person must hold one to use the application; empty for everybody of the tenant.
ALTER TABLE directory.application ADD COLUMN allowed_roles text[] NOT NULL DEFAULT '{}';
