-- Tenants that were deleted: one that is made again under the same identifier gets back nothing issued before.
CREATE TABLE directory.former_tenant (
  tenant_id text PRIMARY KEY,
  deleted_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
