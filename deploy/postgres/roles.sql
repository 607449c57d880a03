-- Two roles: tessera_owner applies migrations and owns what they make; tessera reads and writes. Run once, as a superuser,
-- in the database of Tessera and before the first migration. Then give both a password: \password tessera
CREATE ROLE tessera_owner LOGIN;
CREATE ROLE tessera LOGIN;

DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO tessera_owner', current_database()); END $$;

ALTER DEFAULT PRIVILEGES FOR ROLE tessera_owner GRANT USAGE ON SCHEMAS TO tessera;
ALTER DEFAULT PRIVILEGES FOR ROLE tessera_owner GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO tessera;
ALTER DEFAULT PRIVILEGES FOR ROLE tessera_owner GRANT USAGE, SELECT ON SEQUENCES TO tessera;
