-- Seconds; 0 is the deployment's default. Processes of before leave both as they are.
ALTER TABLE directory.application
  ADD COLUMN authorization_code_lifetime integer NOT NULL DEFAULT 0,
  ADD COLUMN poll_interval integer NOT NULL DEFAULT 0;
