-- Tells every process that follows this record of a row that was committed, so that none has to ask ten times a second.
-- For each row: a statement that writes none must not take the lock of NOTIFY.
CREATE FUNCTION directory.announce_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('tessera_change', TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME);
  RETURN NULL;
END
$$;
CREATE TRIGGER announce_change AFTER INSERT ON directory.change FOR EACH ROW EXECUTE FUNCTION directory.announce_change();
