-- The durable records. The tenant is part of every key and foreign key, so that no row can refer across tenants.

CREATE TABLE directory.tenant (
  tenant_id text PRIMARY KEY,
  name text NOT NULL,
  status text NOT NULL CHECK (status IN ('active', 'disabled')),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE directory.api_resource (
  tenant_id text NOT NULL REFERENCES directory.tenant,
  audience text NOT NULL CHECK (audience <> ''),
  name text NOT NULL,
  PRIMARY KEY (tenant_id, audience)
);

CREATE TABLE directory.scope (
  tenant_id text NOT NULL,
  name text NOT NULL,
  audience text NOT NULL,
  description text NOT NULL,
  position integer NOT NULL,
  PRIMARY KEY (tenant_id, name),
  FOREIGN KEY (tenant_id, audience) REFERENCES directory.api_resource
);

CREATE TABLE directory.role (
  tenant_id text NOT NULL REFERENCES directory.tenant,
  name text NOT NULL,
  PRIMARY KEY (tenant_id, name)
);

CREATE TABLE directory.user_account (
  tenant_id text NOT NULL REFERENCES directory.tenant,
  -- Random and stable: the subject of tokens.
  user_id text NOT NULL CHECK (user_id LIKE 'usr\_%'),
  username text NOT NULL,
  email text NOT NULL,
  name text NOT NULL,
  phone_number text NOT NULL,
  status text NOT NULL CHECK (status IN ('active', 'disabled', 'locked')),
  -- PHC string; absent for a person who cannot sign in with a password.
  password_hash text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, user_id)
);

-- What a person may type to be found: user name, e-mail address and phone number, normalized. One key for the three, so
-- that an identifier never means two people.
CREATE TABLE directory.user_identifier (
  tenant_id text NOT NULL,
  identifier text NOT NULL CHECK (identifier <> ''),
  user_id text NOT NULL,
  PRIMARY KEY (tenant_id, identifier),
  FOREIGN KEY (tenant_id, user_id) REFERENCES directory.user_account ON DELETE CASCADE
);
CREATE INDEX user_identifier_user ON directory.user_identifier (tenant_id, user_id);

CREATE TABLE directory.user_role (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  role text NOT NULL,
  position integer NOT NULL,
  PRIMARY KEY (tenant_id, user_id, role),
  FOREIGN KEY (tenant_id, user_id) REFERENCES directory.user_account ON DELETE CASCADE,
  FOREIGN KEY (tenant_id, role) REFERENCES directory.role
);
CREATE INDEX user_role_role ON directory.user_role (tenant_id, role);

CREATE TABLE directory.application (
  tenant_id text NOT NULL REFERENCES directory.tenant,
  -- Unique over all tenants: the tenant is found through it. Never the form of a user id, so that no subject is ambiguous.
  client_id text NOT NULL UNIQUE CHECK (client_id NOT LIKE 'usr\_%'),
  name text NOT NULL,
  type text NOT NULL CHECK (type IN ('public', 'confidential')),
  status text NOT NULL CHECK (status IN ('active', 'disabled')),
  grant_types text[] NOT NULL,
  redirect_uris text[] NOT NULL,
  -- In order; the first is the fallback.
  logout_redirect_uris text[] NOT NULL,
  -- Built-in scopes and names of directory.scope.
  scopes text[] NOT NULL,
  introspect_audiences text[] NOT NULL,
  -- Seconds; 0 is the deployment's default.
  access_token_lifetime integer NOT NULL,
  id_token_lifetime integer NOT NULL,
  refresh_token_idle_lifetime integer NOT NULL,
  refresh_token_absolute_lifetime integer NOT NULL,
  authorization_request_lifetime integer NOT NULL,
  ciba_approval text NOT NULL CHECK (ciba_approval IN ('', 'page', 'webhook')),
  ciba_url text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, client_id)
);

-- Client secrets as keyed digests; two at most are valid at a time.
CREATE TABLE directory.application_secret (
  tenant_id text NOT NULL,
  client_id text NOT NULL,
  digest text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz,
  -- Noted in batches, so it may lag behind.
  last_used_at timestamptz,
  PRIMARY KEY (tenant_id, client_id, digest),
  FOREIGN KEY (tenant_id, client_id) REFERENCES directory.application ON DELETE CASCADE
);

-- What changed, in the order of the commits: every writer holds one advisory lock from before its first row here until
-- it has committed.
CREATE TABLE directory.change (
  sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  kind text NOT NULL CHECK (kind IN ('tenant', 'application', 'user')),
  tenant_id text NOT NULL,
  -- client_id or user_id; empty for a tenant.
  id text NOT NULL
);
CREATE INDEX change_recorded_at ON directory.change (recorded_at);

CREATE TABLE directory.audit_event (
  event_id text PRIMARY KEY,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  event text NOT NULL,
  tenant_id text,
  outcome text NOT NULL,
  reason text,
  record jsonb NOT NULL
);
