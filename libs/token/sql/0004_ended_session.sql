-- Sessions that a person ended: their codes are not redeemed any more, whatever the short-lived store of codes still has.
-- Written before the person is told so. Kept for longer than any code lives.
CREATE TABLE token.ended_session (
  tenant_id text NOT NULL,
  session_id text NOT NULL,
  ended_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, session_id)
);
CREATE INDEX ended_session_ended_at ON token.ended_session (ended_at);
