-- Who changes a record: "api", or the name of the file that declared it. Processes of version 0.1 leave it as it is, and what they create
-- belongs to "file".
ALTER TABLE directory.tenant ADD COLUMN owner text NOT NULL DEFAULT 'file';
ALTER TABLE directory.api_resource ADD COLUMN owner text NOT NULL DEFAULT 'file';
ALTER TABLE directory.role ADD COLUMN owner text NOT NULL DEFAULT 'file';
ALTER TABLE directory.user_account ADD COLUMN owner text NOT NULL DEFAULT 'file';
ALTER TABLE directory.application ADD COLUMN owner text NOT NULL DEFAULT 'file';

-- What a create with a request identifier created (AIP-155), so that its repeat finds it; for 24 hours.
CREATE TABLE directory.create_request (
  tenant_id text NOT NULL,
  request_id text NOT NULL,
  kind text NOT NULL,
  id text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, request_id)
);
CREATE INDEX create_request_created_at ON directory.create_request (created_at);

-- For pages of people in the order of their identifiers, and for what begins with a text: in byte order, whatever the collation is.
CREATE INDEX user_identifier_order ON directory.user_identifier (tenant_id, identifier COLLATE "C");
