-- What the browser said it is when its person signed in, so that they recognize it; empty for a session of version 0.1.
ALTER TABLE authorize.session ADD COLUMN user_agent text NOT NULL DEFAULT '';
