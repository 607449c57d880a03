-- How the codes of an authenticator app are made (RFC 6238). The previous version takes every app for one with the defaults, and refuses the codes
-- of another one.
ALTER TABLE directory.totp
  ADD COLUMN algorithm text NOT NULL DEFAULT 'SHA1' CHECK (algorithm IN ('SHA1', 'SHA256', 'SHA512')),
  ADD COLUMN digits integer NOT NULL DEFAULT 6 CHECK (digits IN (6, 8)),
  ADD COLUMN period integer NOT NULL DEFAULT 30 CHECK (period BETWEEN 15 AND 120),
  -- Whether it was declared, and not enrolled by the person: then another declared one takes its place.
  ADD COLUMN is_declared boolean NOT NULL DEFAULT false;
-- A keyed digest of the app that was declared last: the same one is put once, whatever became of it since.
ALTER TABLE directory.user_account ADD COLUMN declared_totp text;
