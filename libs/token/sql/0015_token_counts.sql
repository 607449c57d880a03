-- How many tokens an organization was issued and refused in an hour, for its administrators. Written now and again by
-- each process, not with each token; kept for as long as somebody is shown them.
CREATE TABLE token.token_count (
  tenant_id text NOT NULL,
  hour timestamptz NOT NULL,
  issued bigint NOT NULL,
  refused bigint NOT NULL,
  PRIMARY KEY (tenant_id, hour)
);
CREATE INDEX token_count_hour ON token.token_count (hour);
