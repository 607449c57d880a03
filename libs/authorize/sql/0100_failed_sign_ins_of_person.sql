-- Outside a transaction.
-- One that was not finished may be there.
DROP INDEX CONCURRENTLY IF EXISTS authorize.audit_event_failed_sign_in_of_person;
-- People see failed sign-ins at their accounts. They have an index and a limit of their own: guesses push nothing else out.
CREATE INDEX CONCURRENTLY audit_event_failed_sign_in_of_person
  ON authorize.audit_event (tenant_id, (record ->> 'subject'), event_id)
  WHERE event IN ('auth.login.failed');
