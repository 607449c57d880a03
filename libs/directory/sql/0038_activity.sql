-- Outside a transaction.
-- One that was not finished may be there.
DROP INDEX CONCURRENTLY IF EXISTS directory.audit_event_of_person;
-- What people see of what happened to their accounts. Other events, of which there are many, are not in it.
CREATE INDEX CONCURRENTLY audit_event_of_person ON directory.audit_event (tenant_id, (record ->> 'subject'), event_id)
  WHERE event IN ('auth.credential.changed', 'auth.factor.added', 'auth.factor.removed', 'auth.recovery_codes.replaced',
                  'auth.recovery_code.used', 'auth.provider.linked');
