-- Links of a first administrator, which end when somebody administers the tenant.
ALTER TABLE directory.password_link DROP CONSTRAINT password_link_purpose_check;
ALTER TABLE directory.password_link ADD CONSTRAINT password_link_purpose_check
  CHECK (purpose IN ('invitation', 'reset', 'bootstrap'));
