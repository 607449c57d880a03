-- A role that reads the audit trail: psql "$DATABASE_URL" --file deploy/postgres/audit-role.sql
CREATE ROLE tessera_auditor LOGIN;
GRANT USAGE ON SCHEMA authorize, token, device, directory, keys TO tessera_auditor;
GRANT SELECT ON authorize.audit_event, token.audit_event, device.audit_event, directory.audit_event, keys.audit_event TO tessera_auditor;
