-- What the pepper of this database makes of a constant: a process with another pepper would take every client secret for
-- a wrong one. Written by the first process; to be deleted by whoever replaces the pepper with all client secrets.
CREATE TABLE directory.pepper_check (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  digest text NOT NULL,
  written_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
