-- Further audiences of the access tokens of an application. Processes of the previous version leave the column as it is and issue tokens without
-- these.
ALTER TABLE directory.application ADD COLUMN audiences text[] NOT NULL DEFAULT '{}';
