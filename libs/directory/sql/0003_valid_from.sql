-- Sign-ins of before do not count any more: whole seconds since the Unix epoch, 0 for all count. It is the first full
-- second after a change of the password or the status, and who signs in within the second of the change is dated to it,
-- so that sign-ins before and after a change never share a number.
ALTER TABLE directory.tenant ADD COLUMN valid_from bigint NOT NULL DEFAULT 0;
ALTER TABLE directory.application ADD COLUMN valid_from bigint NOT NULL DEFAULT 0;
ALTER TABLE directory.user_account ADD COLUMN valid_from bigint NOT NULL DEFAULT 0;

-- Applications that were deleted: who is made again under the same identifier gets back nothing that was issued before.
CREATE TABLE directory.former_application (
  tenant_id text NOT NULL REFERENCES directory.tenant,
  client_id text NOT NULL,
  deleted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, client_id)
);
