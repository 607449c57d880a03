-- What clients of CIBA ping and push are to be told of decisions (CIBA Core sections 10.2 and 10.3). A row is written in the
-- commit of its decision and removed with the audit row that says how it ended, so that nothing that was decided is lost.
CREATE TABLE device.delivery (
  delivery_id text PRIMARY KEY,
  tenant_id text NOT NULL,
  client_id text NOT NULL,
  -- SHA-256 of the auth_req_id, as in device.decision.
  hash bytea NOT NULL CHECK (octet_length(hash) = 32),
  -- Names the backchannel request; what is sealed can be opened for it alone.
  request_id text NOT NULL,
  user_id text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('ping', 'push')),
  outcome text NOT NULL CHECK (outcome IN ('approved', 'denied', 'failed')),
  -- Approved and to be pushed: `token` has not said yet what.
  awaits_tokens boolean NOT NULL,
  -- The auth_req_id and what proves us to the client, sealed; so are the tokens, from when they are there.
  sealed text NOT NULL,
  sealed_tokens text,
  -- Attempts of the present step: to have the tokens issued, then to deliver. The number says whose lease it is.
  attempts integer NOT NULL DEFAULT 0,
  -- When it may be taken next: the end of a lease or of a pause.
  due_at timestamptz NOT NULL,
  -- No tokens are issued and nothing is tried again after it.
  expires_at timestamptz NOT NULL,
  -- Of the call that decided, for the audit trail.
  call_id text NOT NULL,
  ip_address text NOT NULL
);

CREATE INDEX delivery_due ON device.delivery (awaits_tokens, due_at);
-- For the purge of what nobody could be told.
CREATE INDEX delivery_expires_at ON device.delivery (expires_at);
