-- The roles of Tessera. Run as a superuser, in the database of Tessera, before the first migration or later; running it again is safe.
-- Then give each role that you use a password: \password tessera
--
--     tessera_owner       applies migrations and owns what they make
--     tessera_<service>   reads and writes the schema of one service, and sees no other
--     tessera             has the rights of all five, for compact and the command line
DO $$
DECLARE
  service text;
  role text;
BEGIN
  FOREACH role IN ARRAY ARRAY['tessera_owner', 'tessera'] LOOP
    IF to_regrole(role) IS NULL THEN EXECUTE format('CREATE ROLE %I LOGIN', role); END IF;
  END LOOP;
  EXECUTE format('GRANT CREATE ON DATABASE %I TO tessera_owner', current_database());

  FOREACH service IN ARRAY ARRAY['keys', 'directory', 'authorize', 'device', 'token'] LOOP
    role := 'tessera_' || service;
    IF to_regrole(role) IS NULL THEN EXECUTE format('CREATE ROLE %I LOGIN', role); END IF;
    EXECUTE format('GRANT %I TO tessera', role);
    EXECUTE format('CREATE SCHEMA IF NOT EXISTS %I AUTHORIZATION tessera_owner', service);
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', service, role);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO %I', service, role);
    EXECUTE format('GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA %I TO %I', service, role);
    EXECUTE format('ALTER DEFAULT PRIVILEGES FOR ROLE tessera_owner IN SCHEMA %I GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO %I', service, role);
    EXECUTE format('ALTER DEFAULT PRIVILEGES FOR ROLE tessera_owner IN SCHEMA %I GRANT USAGE, SELECT ON SEQUENCES TO %I', service, role);
  END LOOP;
END $$;
