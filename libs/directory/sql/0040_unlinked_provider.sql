-- Outside a transaction.
-- One that was not finished may be there.
DROP INDEX CONCURRENTLY IF EXISTS directory.audit_event_about_person;
-- As audit_event_of_person, with the ends of links; it also serves the query of the previous version, so that one can go.
CREATE INDEX CONCURRENTLY audit_event_about_person ON directory.audit_event (tenant_id, (record ->> 'subject'), event_id)
  WHERE event IN ('auth.credential.changed', 'auth.factor.added', 'auth.factor.removed', 'auth.recovery_codes.replaced',
                  'auth.recovery_code.used', 'auth.provider.linked', 'auth.provider.unlinked');
DROP INDEX CONCURRENTLY IF EXISTS directory.audit_event_of_person;
