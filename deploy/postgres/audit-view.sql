-- One view of all audit tables, for a psql session: \i deploy/postgres/audit-view.sql
CREATE TEMPORARY VIEW audit AS
  SELECT 'authorize' AS schema, * FROM authorize.audit_event UNION ALL
  SELECT 'token', * FROM token.audit_event UNION ALL
  SELECT 'device', * FROM device.audit_event UNION ALL
  SELECT 'directory', * FROM directory.audit_event UNION ALL
  SELECT 'keys', * FROM keys.audit_event;
