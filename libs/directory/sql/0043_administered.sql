-- Tenants that have been administered: they get no first administrator any more, whoever administers them is deleted or loses every way in.
-- A tenant that is deleted and made again has been administered, so there is no foreign key.
CREATE TABLE directory.administered (
  tenant_id text PRIMARY KEY,
  since timestamptz NOT NULL DEFAULT clock_timestamp()
);
-- Who has nothing but the link of a first administrator has never signed in.
INSERT INTO directory.administered (tenant_id)
SELECT r.tenant_id FROM directory.user_role r
 WHERE r.role = 'tessera.administrator'
   AND NOT EXISTS (SELECT FROM directory.password_link l
                    WHERE l.tenant_id = r.tenant_id AND l.user_id = r.user_id AND l.purpose = 'bootstrap'
                      AND EXISTS (SELECT FROM directory.user_account u
                                   WHERE u.tenant_id = l.tenant_id AND u.user_id = l.user_id AND u.password_hash IS NULL))
UNION
SELECT d.tenant_id FROM directory.deleted_record d
 WHERE d.kind = 'user' AND d.record -> 'roles' ? 'tessera.administrator';
