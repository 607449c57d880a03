-- Outside a transaction.
-- One that was not finished may be there.
DROP INDEX CONCURRENTLY IF EXISTS authorize.audit_event_of_person;
-- What people see of what happened to their accounts. Other events, of which there are many, are not in it.
CREATE INDEX CONCURRENTLY audit_event_of_person ON authorize.audit_event (tenant_id, (record ->> 'subject'), event_id)
  WHERE event IN ('auth.login.succeeded', 'consent.granted', 'consent.revoked');
