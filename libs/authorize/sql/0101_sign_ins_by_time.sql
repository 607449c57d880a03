-- Outside a transaction.
-- One that was not finished may be there.
DROP INDEX CONCURRENTLY IF EXISTS authorize.audit_event_sign_in;
-- Administrators see how many sign-ins there were, hour by hour. Other events, of which there are many, are not in it.
CREATE INDEX CONCURRENTLY audit_event_sign_in ON authorize.audit_event (tenant_id, event_id)
  WHERE event IN ('auth.login.succeeded', 'auth.login.failed');
