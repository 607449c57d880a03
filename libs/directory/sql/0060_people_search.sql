-- People are found by the beginnings of the words of their names and addresses, and by when they last signed in. Triggers keep that, so that
-- it is right whichever version writes.

-- The words of a text, without case and accents, each once, in the order of bytes. What is searched for goes the same way.
CREATE FUNCTION directory.words_of(given text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(array_agg(DISTINCT left(word, 64) COLLATE "C"), '{}')
    FROM regexp_split_to_table(
           lower(regexp_replace(normalize(given, NFKD), '[\u0300-\u036f]', '', 'g')),
           '[\s!-/:-@\[-`{-~\u00a0-\u00bf\u2000-\u206f\u3000-\u303f]+') AS word
   WHERE word <> ''
$$;

CREATE TABLE directory.person_words (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  words text[] NOT NULL,
  PRIMARY KEY (tenant_id, user_id)
);

-- In the order of bytes, whatever the collation is, so that an index finds what a word begins with.
CREATE TABLE directory.person_word (
  tenant_id text NOT NULL,
  word text COLLATE "C" NOT NULL,
  user_id text NOT NULL,
  PRIMARY KEY (tenant_id, word, user_id)
);

-- Beside the account, whose version would be another one after each sign-in. A person who is deleted and brought back has theirs again.
CREATE TABLE directory.person_seen (
  tenant_id text NOT NULL REFERENCES directory.tenant ON DELETE CASCADE,
  user_id text NOT NULL,
  -- The last sign-in, or else when the account was made, or came to be known here: nobody is idle who is new.
  seen_at timestamptz NOT NULL,
  signed_in_at timestamptz,
  -- Whether every sign-in is known; not of accounts that are older than this table.
  from_the_first boolean NOT NULL,
  PRIMARY KEY (tenant_id, user_id)
);
CREATE INDEX person_seen_order ON directory.person_seen (tenant_id, seen_at, user_id);
CREATE INDEX person_never_signed_in ON directory.person_seen (tenant_id, user_id) WHERE signed_in_at IS NULL AND from_the_first;

CREATE FUNCTION directory.index_person(person directory.user_account, is_new boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  wanted text[] := directory.words_of(concat_ws(' ', person.username, person.email, person.name, person.phone_number,
    person.standard_claims ->> 'preferredUsername', person.standard_claims ->> 'givenName', person.standard_claims ->> 'middleName',
    person.standard_claims ->> 'familyName', person.standard_claims ->> 'nickname'));
  present text[];
BEGIN
  INSERT INTO directory.person_seen (tenant_id, user_id, seen_at, from_the_first)
  VALUES (person.tenant_id, person.user_id, clock_timestamp(), is_new) ON CONFLICT DO NOTHING;
  SELECT p.words INTO present FROM directory.person_words p WHERE p.tenant_id = person.tenant_id AND p.user_id = person.user_id;
  IF present = wanted THEN
    RETURN;
  END IF;
  DELETE FROM directory.person_word w
   WHERE w.tenant_id = person.tenant_id AND w.user_id = person.user_id AND w.word = ANY(present) AND w.word <> ALL(wanted);
  INSERT INTO directory.person_word (tenant_id, word, user_id)
  SELECT person.tenant_id, word, person.user_id FROM unnest(wanted) AS word ON CONFLICT DO NOTHING;
  INSERT INTO directory.person_words (tenant_id, user_id, words) VALUES (person.tenant_id, person.user_id, wanted)
  ON CONFLICT (tenant_id, user_id) DO UPDATE SET words = excluded.words;
END
$$;

CREATE FUNCTION directory.index_put_person() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Who is brought back was there before, and is no longer among the deleted records at the end of that transaction.
  PERFORM directory.index_person(NEW, TG_OP = 'INSERT' AND NOT EXISTS (
    SELECT FROM directory.deleted_record d WHERE d.tenant_id = NEW.tenant_id AND d.kind = 'user' AND d.id = NEW.user_id));
  RETURN NULL;
END
$$;
CREATE TRIGGER index_put_person AFTER INSERT OR UPDATE OF username, email, name, phone_number, standard_claims ON directory.user_account
  FOR EACH ROW EXECUTE FUNCTION directory.index_put_person();

CREATE FUNCTION directory.forget_deleted_person() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM directory.person_word w USING directory.person_words p
   WHERE p.tenant_id = OLD.tenant_id AND p.user_id = OLD.user_id
     AND w.tenant_id = OLD.tenant_id AND w.user_id = OLD.user_id AND w.word = ANY(p.words);
  DELETE FROM directory.person_words p WHERE p.tenant_id = OLD.tenant_id AND p.user_id = OLD.user_id;
  RETURN NULL;
END
$$;
CREATE TRIGGER forget_deleted_person AFTER DELETE ON directory.user_account
  FOR EACH ROW EXECUTE FUNCTION directory.forget_deleted_person();

-- For the people who were there before. In short transactions, as each keeps others from changing its people.
CREATE PROCEDURE directory.index_people() LANGUAGE plpgsql AS $$
DECLARE
  last_tenant text := '';
  last_user text := '';
  batch directory.user_account[];
BEGIN
  LOOP
    batch := ARRAY(SELECT u FROM directory.user_account u WHERE (u.tenant_id, u.user_id) > (last_tenant, last_user)
                    ORDER BY u.tenant_id, u.user_id LIMIT 500 FOR SHARE);
    EXIT WHEN cardinality(batch) = 0;
    PERFORM directory.index_person(person, false) FROM unnest(batch) AS person;
    last_tenant := (batch[cardinality(batch)]).tenant_id;
    last_user := (batch[cardinality(batch)]).user_id;
    COMMIT;
  END LOOP;
END
$$;
