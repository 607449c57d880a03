-- A family without the scope offline_access is of its session and ends with it. Rows of today have one of the other causes.
ALTER TABLE token.refresh_family
  DROP CONSTRAINT refresh_family_revoked_cause_check,
  ADD CONSTRAINT refresh_family_revoked_cause_check
    CHECK (revoked_cause IN ('revoked', 'reuse_detected', 'grant_replayed', 'session_ended')) NOT VALID;
