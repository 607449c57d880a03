-- Of refresh tokens that end with the session, in seconds; 0: that of the session alone.
ALTER TABLE directory.application
  ADD COLUMN session_refresh_token_idle_lifetime integer NOT NULL DEFAULT 0,
  ADD COLUMN session_refresh_token_absolute_lifetime integer NOT NULL DEFAULT 0;
