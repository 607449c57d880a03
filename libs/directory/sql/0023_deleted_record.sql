-- People and applications that were deleted, for 30 days, so that they can be restored with their identifiers, password hash and secrets.
-- Nothing else reads them. Processes of version 0.1 keep nothing of what they delete.
CREATE TABLE directory.deleted_record (
  tenant_id text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('user', 'application')),
  -- user_id or client_id.
  id text NOT NULL,
  -- What a file knows the record by: the normalized user name, or the client ID.
  name text NOT NULL,
  -- The record by the keys of the declared state, and what its rows held besides.
  record jsonb NOT NULL,
  facts jsonb NOT NULL,
  deleted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, kind, id)
);
CREATE INDEX deleted_record_deleted_at ON directory.deleted_record (deleted_at);
CREATE INDEX deleted_record_name ON directory.deleted_record (tenant_id, kind, name COLLATE "C", id COLLATE "C");
-- No other tenant takes a client ID as long as it may be restored.
CREATE INDEX deleted_record_client_id ON directory.deleted_record (id) WHERE kind = 'application';
