-- Scopes that an application gets whatever it asks for. Processes of the previous version leave the column as it is and grant what is asked for
-- alone.
ALTER TABLE directory.application ADD COLUMN default_scopes text[] NOT NULL DEFAULT '{}';
