-- Who may assign the scopes of a resource without the right to change it; empty is nobody. The previous version asks everybody for that right.
ALTER TABLE directory.api_resource ADD COLUMN assignable_by text[] NOT NULL DEFAULT '{}';
