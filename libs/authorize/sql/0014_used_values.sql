-- What is accepted once until it expires: answers of providers. The key is a digest.
CREATE TABLE authorize.used_value (
  digest bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
  expires_at timestamptz NOT NULL
);
CREATE INDEX used_value_expires_at ON authorize.used_value (expires_at);
