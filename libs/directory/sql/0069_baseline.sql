-- Baseline of version 0.2.0: the whole schema as these migrations made it, with their checksums.
-- 0001_directory.sql 83bf7c09ad51b853e416469aa92d33cb39faf8022e9057e49f8d27d51ac94fcf
-- 0002_change_ends.sql e2dee0b4ecc8366f49783b48b9b263501c940a5ac5abc0456c6c23db4a7ad2ef
-- 0003_valid_from.sql ef2527572b12e6e6c0fe8bc1ef3091480ef017d169fc73f1b2ec767909c64d26
-- 0004_ciba_delivery.sql 7f98a4cf1a25dcaa993cc3b2b39964ca004d722e8b1c763a25dfc66b25f88a4f
-- 0005_imported_hash.sql bc0ce9010c24bc7c03d261bb3721d1e4468551dd3af2ea0ac75801741b9356e6
-- 0006_allowed_roles.sql 492b896b804c230f5fe901101cba1df135c46bd5de374e28018fbdbf07210a4b
-- 0007_pepper_check.sql 670056cd4ad9b7107c8f77b1aa871f539a6479fcfa25bd829fea344d0cd90455
-- 0008_code_and_interval.sql e2ffb8470f98a708797027c84c638be26979e94a4ee523f2f8ed7104b575ff9a
-- 0009_pkce.sql 60e441b27127b42bcbd7a3a6e433d6f6994c9918366a5bf5983223f7a4bee996
-- 0010_authenticated_start.sql 4a0fd60ca4c7aa3d417067361d751c6a987f2c523c9b99b6a85b7fd4f91d4f50
-- 0011_tenant_issuer.sql c9ded80a4ba0b4d892ca8e5db62f3cc1189366715f01bb9e044966ef13f9f2b9
-- 0012_claims.sql bb0a6701faf3160bf8ab868dc622e3b5bf59853987c12cfe03ba23ccffab6c61
-- 0014_backchannel_logout.sql 4b841e833a6e060a66d339a9b1749bcd52116571c9f22aa7825f13ccc962a001
-- 0016_token_shape.sql f7e6c012b28535f431df07474f42be8457585babdf50c649e0516f0da479153b
-- 0017_custom_claims.sql fb0102553f3b152e9eeb5d8c4585cae1965f9d8bb4aad394bcad42a6f370e2b9
-- 0018_id_token_claims.sql 2ed552c51a1ee7c3ec27351636e34740f5b868a90191da62222e1f67483220ef
-- 0019_announcements.sql 42baf1b7d890071efad6cc8061dfdcc1d6f87aed12feede10090fba53d4c9b2d
-- 0020_signing_algorithm.sql b7b035c0b38d66ce6e07bce5989e0a629e2d54c34a4d0e26f0085b5108e3b875
-- 0021_records.sql 87a3b71e2667b929fedd518cc385c10dd8bc57468c025c607a8785ef0ef3ab39
-- 0022_former_tenant.sql 4bb66609029e7da6b107d7cc3e4ad4808693a62c87d7409a38913431e7bdce62
-- 0023_deleted_record.sql ca2882d1a721a2fd1b7ebe38031c9e90be4997ebac1bbc8fcef433feb49cb6b5
-- 0024_password_link.sql 0bd7d14771dce53226eff1473adc7560760130973e2a65134a66a11778162e9d
-- 0025_resource_audience.sql 935ed6d2ba01b550c96713a6a52093404138a1aa7f76195f7cf766fffc07d881
-- 0026_first_administrator.sql f944cbbfdcd6294e6a52e2324909d2eca11ec03a90cf508638d56f444a2ccb7b
-- 0027_second_factors.sql db82e8d0b74ca891fe0ce639b0d07d29a8acf29d21b95e3044bf4b2f530866cf
-- 0028_third_party.sql 974bc793d0bbca3e3cf9a3dc4f539ab413f3f99c8e6bfefc1623faa0e4fd1e35
-- 0029_providers.sql 2377545c7609c1419d46a886aaeb13c8f5ba1df0b1cb1cf17a49fee3517c3698
-- 0030_passkeys.sql 769b094d010c11f02d6b666cd1d9e51b128088897084910698d0da372d5ce26b
-- 0031_provider_identities.sql b0b0e2def78baceaef9aec8fa5d6357c6c83a9470d78535126f428d1db0518f0
-- 0032_looks.sql 6cd2b1e8d9e989f599800b24ad74ccaf129b53bee74b0f56ebb94605ca4bc3a1
-- 0033_mail.sql e47042346a8aae1f39bf0f777a53a5d1d3ac2a581a1bdaa619f0f1a011e5f59d
-- 0034_email_link.sql 87ffc4389c42cb3a20b47454e4ebba1cf413b731448a17ad344f3c44eb4c2f09
-- 0035_passkey_domain.sql e34be632364c1cc693f3fb1058f48ae1a11554a2fcc7a9eb4e91b134a7765d7c
-- 0036_registration.sql 2f67d66152669fceacb68b8cc0f74fdd018a18625402cddf472cfe1961e52c5c
-- 0037_provider_mappings.sql 39b49a55f2b392dd8c6e133ec896c2a0579e503e732aaabac5c3f3ce6cde96cd
-- 0038_activity.sql 905374f1187b11ae005caa684d1bbcaa1d2ebd7ea91971b1fff87197e30e69f4
-- 0039_application_policy.sql 0fc0b9226970d368269bf392059895d3fc49a54ae7a1a1d76c2eeee522e3659b
-- 0040_unlinked_provider.sql f597fc135f21f599baefa530d543139f8f48de51921cbd8a41b6ed966039c9f9
-- 0041_provider_logout.sql f85c5a08d5b7e8642d89cd554c8f255b34c30b4feaa2fdb1687bc62708405a9e
-- 0042_account_closing.sql 2975dad8622c26c78448e71229f21865753598f1efcc03ad0c8895b181a3f938
-- 0043_administered.sql 88a5e1534607649a6cd1abda3766a0e201cfd7ae7c5ce79488086ec2a06ed7ba
-- 0044_request_digest.sql ca05166a739ca668224e70519c41421d815074a0adf8a1ceb1ae7a5a89ec7d47
-- 0045_declared_algorithms.sql 7fed557c79c0359c0fa7b581f4465ecfd8826dea09a7299b065d6d5ebadfafc0
-- 0049_unlocked_at.sql c260d6f1932eaed0cd451e6357d9f80f6af095037688679dcaba6d738903dae1
-- 0051_token_roles.sql 3e7e5ea72a71c2ea0b55d8f917bd65a84406466e65f36cd466beaa0942a0aee2
-- 0052_loopback_ports.sql 7df93648e6c251c128bc1a6af5b26db491ff208d1c1fc34a2408800691902e5b
-- 0053_email_proof.sql 5918a4103e4ec038e2b5e3a3b9bc8b1f889adfef1dc2607136fd968a6096cca8
-- 0054_preferred_username.sql 88ad63ef4be4435b60ad970d0902184ee2dee212d7c4dd79eed8395ed2d81ef2
-- 0055_earlier_email_proofs.sql 36335b2e10a428173e389c160ab8c663fa334d58dee166d98d0d4500fca33b85
-- 0056_preferred_name.sql 4b119e3ef784f55d2d4ef1cd77029a5396bfc80ae78fae6223621d8bab2367ed
-- 0057_mailed_link.sql cba8ac33e11b8db22ae6d818b64c64a5c718be8f516a209858dfb79acc3326a9
-- 0058_owners_of_credentials.sql 5faf9dc8b7e95ae5c1af0f2b47621f8911f28fae3ea93bb710f460247f8f6032
-- 0059_assignable_scopes.sql 6f6aca28cbbb04a4e4453af8b2e27c6d9ec5b954b5543a790b072b14b9b10512
-- 0060_people_search.sql 0f6075afac7bc344d702c0125320829178d11ec3602db316a80aac9153435777
-- 0061_people_search_filled.sql 97ea1662908af48496944010bd68e8a89723a7795186f7acba8f9e33f2eb1b6c
-- 0062_people_filters.sql 44c9e244949b3f1ba97fb87ddfd7a04d9fba3b1d31e11e327ffad19e24de99da
-- 0065_sign_in_methods.sql e9d79d4ef3a845b36351a18a17994ab9a1d7b02245ad10a328789565142720fb
-- 0066_mail_attempts.sql d4fe7364a33834f0e6e07c861ac119a91ef020e90df9c73e46577fdd957e9116
-- 0067_mail_of_tenant.sql d3195c5d13c73c752bc12dca3fb72ed132638d3e3dbf9fbc2445d6aa45115f83
-- 0068_endpoints_of_keycloak.sql 97e4568d62714687402bd78df75e8e8e23f4dcf5ed2dd6cbca5480cdca8277c8
-- 0069_locked_down_at.sql 1a8292e7dde95fea8569cabbb0f499ec10a61d88c558a5213c7c0fda564fff99

-- The durable records. The tenant is part of every key and foreign key, so that no row can refer across tenants.
-- `owner` says who changes a record: "api", or the name of the file that declared it.

CREATE TABLE directory.tenant (
  tenant_id text PRIMARY KEY,
  name text NOT NULL,
  status text NOT NULL CHECK (status IN ('active', 'disabled')),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Sign-ins of before do not count any more: whole seconds since the Unix epoch, 0 for all count. It is the first full
  -- second after a change of the password or the status, and who signs in within the second of the change is dated to
  -- it, so that sign-ins before and after a change never share a number. So it is of applications and people.
  valid_from bigint NOT NULL DEFAULT 0,
  -- Of a tenant that has its own; empty for the shared one.
  issuer text NOT NULL DEFAULT '',
  owner text NOT NULL DEFAULT 'file',
  -- What every sign-in of its people needs.
  authentication_policy text NOT NULL DEFAULT 'any',
  -- Logo, colours and links of its pages.
  looks jsonb NOT NULL
    DEFAULT '{"logo": "", "accentColor": "", "accentColorDark": "", "tosUri": "", "policyUri": ""}',
  -- The domain of its passkeys (WebAuthn L3 section 4, RP ID): that of its own issuer, or of the shared one.
  passkey_domain text NOT NULL DEFAULT 'own' CHECK (passkey_domain IN ('own', 'shared')),
  -- Who may make an account.
  registration text NOT NULL DEFAULT 'closed',
  registration_domains text[] NOT NULL DEFAULT '{}',
  -- Whether people may close their accounts.
  account_closing boolean NOT NULL DEFAULT false,
  -- Ways to sign in that it allows besides the usual ones.
  sign_in_methods text[] NOT NULL DEFAULT '{}',
  -- By what paths the endpoints of its own issuer are found.
  endpoints text NOT NULL DEFAULT 'standard' CHECK (endpoints IN ('standard', 'keycloak'))
);
-- Two issuers differ in host or path, not only in scheme.
CREATE UNIQUE INDEX tenant_issuer ON directory.tenant (split_part(issuer, '//', 2)) WHERE issuer <> '';

-- Tenants that were deleted: one that is made again under the same identifier gets back nothing issued before.
CREATE TABLE directory.former_tenant (
  tenant_id text PRIMARY KEY,
  deleted_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Tenants that have been administered: they get no first administrator any more, whoever administers them is deleted or
-- loses every way in. A tenant that is deleted and made again has been administered, so there is no foreign key.
CREATE TABLE directory.administered (
  tenant_id text PRIMARY KEY,
  since timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE directory.api_resource (
  tenant_id text NOT NULL REFERENCES directory.tenant,
  audience text NOT NULL CHECK (audience <> ''),
  name text NOT NULL,
  -- Whether other tenants of the same issuer may declare this audience too.
  shared boolean NOT NULL DEFAULT false,
  -- The header typ of its access tokens and the form of their scope claim.
  token_type text NOT NULL DEFAULT 'at+jwt' CHECK (token_type IN ('at+jwt', 'JWT')),
  scope_format text NOT NULL DEFAULT 'array' CHECK (scope_format IN ('array', 'string')),
  -- Signs its access tokens. The algorithms are those of `oauth`, so that a new one needs no migration.
  signing_algorithm text NOT NULL DEFAULT 'RS256',
  owner text NOT NULL DEFAULT 'file',
  -- The roles that its access tokens may name; empty is all.
  roles text[] NOT NULL DEFAULT '{}',
  -- Who may assign its scopes without the right to change it; empty is nobody.
  assignable_by text[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (tenant_id, audience)
);
-- Whether another tenant has an audience, without a look at all of them.
CREATE INDEX api_resource_audience ON directory.api_resource (audience);
-- The list of issuers names the algorithms that resources declare, of which few are not the default.
CREATE INDEX api_resource_signing_algorithm ON directory.api_resource (tenant_id, signing_algorithm)
  WHERE signing_algorithm <> 'RS256';

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
  owner text NOT NULL DEFAULT 'file',
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
  valid_from bigint NOT NULL DEFAULT 0,
  -- A password hash that was imported with other parameters is made anew at the next sign-in. This is the SHA-256 of
  -- what was declared, so that applying the same declaration again neither counts as another password nor puts the old
  -- hash back.
  imported_hash bytea,
  -- Standard claims beside name, e-mail address and phone number, by the keys of the declared state.
  standard_claims jsonb NOT NULL DEFAULT '{}',
  attributes jsonb NOT NULL DEFAULT '{}',
  owner text NOT NULL DEFAULT 'file',
  -- When an administrator last ended the lock after too many guesses, in milliseconds; 0 for never.
  unlocked_at bigint NOT NULL DEFAULT 0,
  -- From when sign-ins counted after an administrator last locked the account down, in seconds since the Unix epoch; 0
  -- for never.
  locked_down_at bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, user_id)
);
-- Whether somebody is known by a name that another one wants to sign in with, without a look at everybody of the tenant.
CREATE INDEX user_account_preferred_username
  ON directory.user_account (tenant_id, lower(standard_claims ->> 'preferredUsername'))
  WHERE standard_claims ? 'preferredUsername';
CREATE INDEX user_account_not_active ON directory.user_account (tenant_id, status, user_id) WHERE status <> 'active';

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
-- For pages of people in the order of their identifiers, and for what begins with a text: in byte order, whatever the
-- collation is.
CREATE INDEX user_identifier_order ON directory.user_identifier (tenant_id, identifier COLLATE "C");

-- The names by which programs know people, as identifiers are compared.
CREATE TABLE directory.preferred_name (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  name text NOT NULL,
  PRIMARY KEY (tenant_id, user_id),
  FOREIGN KEY (tenant_id, user_id) REFERENCES directory.user_account ON DELETE CASCADE
);
CREATE INDEX preferred_name_name ON directory.preferred_name (tenant_id, name);

-- Who proved that the e-mail address of a person is theirs: an OpenID provider, by name and issuer, or, with both empty,
-- a link that was mailed there. `identifier` is the address as identifiers are compared. A row is of that address alone.
-- Without a row an administrator says that the address is verified, or nobody knows who did.
CREATE TABLE directory.email_proof (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  identifier text NOT NULL,
  provider text NOT NULL,
  issuer text NOT NULL,
  PRIMARY KEY (tenant_id, user_id),
  FOREIGN KEY (tenant_id, user_id) REFERENCES directory.user_account ON DELETE CASCADE
);

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
CREATE INDEX user_role_holders ON directory.user_role (tenant_id, role, user_id);

CREATE TABLE directory.application (
  tenant_id text NOT NULL REFERENCES directory.tenant,
  -- Unique over all tenants: the tenant is found through it. Never the form of a user id, so that no subject is
  -- ambiguous.
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
  valid_from bigint NOT NULL DEFAULT 0,
  -- How a CIBA client gets its tokens (CIBA Core section 5), and where it is told of a decision; empty for `poll`.
  -- `push` is of version 0.1, and counts as `poll`.
  ciba_delivery text NOT NULL DEFAULT 'poll' CHECK (ciba_delivery IN ('poll', 'ping', 'push')),
  ciba_notification_endpoint text NOT NULL DEFAULT '',
  -- Roles of the tenant of which a person must hold one to use the application; empty for everybody of the tenant.
  allowed_roles text[] NOT NULL DEFAULT '{}',
  -- Seconds; 0 is the deployment's default.
  authorization_code_lifetime integer NOT NULL DEFAULT 0,
  poll_interval integer NOT NULL DEFAULT 0,
  -- Whether an authorization request needs a code challenge (RFC 7636).
  pkce text NOT NULL DEFAULT 'required' CHECK (pkce IN ('required', 'optional')),
  -- Whether a confidential application must authenticate when it starts a device or backchannel request.
  authenticated_start text NOT NULL DEFAULT 'optional' CHECK (authenticated_start IN ('optional', 'required')),
  -- Where it is notified of ended sessions (OIDC Back-Channel Logout section 2.2); empty if it is not.
  backchannel_logout_uri text NOT NULL DEFAULT '',
  backchannel_logout_session_required boolean NOT NULL DEFAULT false,
  -- The claims that it maps from attributes of people, by the keys of the declared state.
  claims jsonb NOT NULL DEFAULT '{}',
  -- Scopes whose claims it gets in its ID tokens too.
  id_token_claims text[] NOT NULL DEFAULT '{}',
  owner text NOT NULL DEFAULT 'file',
  -- Whether it asks people for their consent.
  third_party boolean NOT NULL DEFAULT false,
  -- What sign-ins for it need at least.
  authentication_policy text NOT NULL DEFAULT 'any',
  -- The roles that its tokens may name; empty is all.
  roles text[] NOT NULL DEFAULT '{}',
  -- Whether loopback redirect URIs match with every port.
  loopback_ports text NOT NULL DEFAULT 'exact',
  -- Of whom its access tokens may write records by the administration API; empty is api.
  owners text[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (tenant_id, client_id)
);

-- Applications that were deleted: who is made again under the same identifier gets back nothing that was issued before.
CREATE TABLE directory.former_application (
  tenant_id text NOT NULL REFERENCES directory.tenant,
  client_id text NOT NULL,
  deleted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
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

-- What the pepper of this database makes of a constant: a process with another pepper would take every client secret for
-- a wrong one. Written by the first process; to be deleted by whoever replaces the pepper with all client secrets.
CREATE TABLE directory.pepper_check (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  digest text NOT NULL,
  written_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The OpenID providers of tenants.
CREATE TABLE directory.provider (
  tenant_id text NOT NULL REFERENCES directory.tenant ON DELETE CASCADE,
  name text NOT NULL,
  preset text NOT NULL,
  issuer text NOT NULL,
  client_id text NOT NULL,
  -- The client secret, encrypted.
  sealed_secret text NOT NULL,
  display_name text NOT NULL,
  scopes text[] NOT NULL,
  domains text[] NOT NULL,
  linking text NOT NULL,
  creates_accounts boolean NOT NULL,
  owner text NOT NULL,
  -- What its claims decide about its people, at each sign-in, and whether its factors count.
  role_mappings jsonb NOT NULL DEFAULT '[]',
  attribute_mappings jsonb NOT NULL DEFAULT '{}',
  trusts_factors boolean NOT NULL DEFAULT false,
  -- Whether signing out here signs out there, too.
  signs_out boolean NOT NULL DEFAULT false,
  PRIMARY KEY (tenant_id, name)
);

-- Who signed in with which identity of a provider. `subject` and `issuer` are its `sub` and `iss`. One identity is one
-- person's, and a person has one identity at a provider: an address that a company gives to somebody else does not lead
-- to the person who had it before. A deleted person who is brought back has theirs again.
CREATE TABLE directory.provider_identity (
  tenant_id text NOT NULL REFERENCES directory.tenant ON DELETE CASCADE,
  provider text NOT NULL,
  issuer text NOT NULL,
  subject text NOT NULL,
  user_id text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, provider, issuer, subject),
  UNIQUE (tenant_id, user_id, provider, issuer)
);
CREATE INDEX provider_identity_people ON directory.provider_identity (tenant_id, provider, user_id);

-- Passkeys (WebAuthn Level 3 section 4, credential record). `credential_id` and `user_handle` are base64url; `synced`
-- ones can be copied to other devices. A deleted person who is brought back has theirs again, so there is no foreign
-- key.
CREATE TABLE directory.passkey (
  tenant_id text NOT NULL,
  credential_id text NOT NULL,
  user_id text NOT NULL,
  user_handle text NOT NULL,
  rp_id text NOT NULL,
  public_key bytea NOT NULL,
  sign_count bigint NOT NULL,
  transports text[] NOT NULL,
  synced boolean NOT NULL,
  backed_up boolean NOT NULL,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_used_at timestamptz,
  PRIMARY KEY (tenant_id, credential_id)
);
CREATE INDEX passkey_of_user ON directory.passkey (tenant_id, user_id);

-- Challenges that were answered (section 13.4.3): each is accepted once. They are kept for longer than any visit lasts.
CREATE TABLE directory.used_challenge (
  tenant_id text NOT NULL,
  digest bytea NOT NULL,
  used_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, digest)
);
CREATE INDEX used_challenge_used_at ON directory.used_challenge (used_at);

-- Authenticator apps (RFC 6238). `sealed` is the secret, encrypted; a code of `last_step` or an earlier time step is
-- used up. A deleted person who is brought back has theirs again, so there is no foreign key.
CREATE TABLE directory.totp (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  sealed text NOT NULL,
  last_step bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, user_id)
);

-- Codes in place of a lost app, each used once. Only their keyed digests are stored.
CREATE TABLE directory.recovery_code (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  digest bytea NOT NULL,
  PRIMARY KEY (tenant_id, user_id, digest)
);

-- One-time links with which people set their passwords; those of a first administrator (`bootstrap`) end when somebody
-- administers the tenant. Only the SHA-256 of a link is stored. A link ends with what was issued to its person before it
-- was made: `valid_from` is the time that user and tenant had then.
CREATE TABLE directory.password_link (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  purpose text NOT NULL CHECK (purpose IN ('invitation', 'reset', 'bootstrap')),
  digest bytea NOT NULL UNIQUE,
  valid_from bigint NOT NULL,
  expires_at timestamptz NOT NULL,
  -- The digest of the link that was mailed, in hexadecimal, a space, and the address that it was mailed to, as
  -- identifiers are compared; empty, or null, for a link that somebody handed out.
  mailed text,
  PRIMARY KEY (tenant_id, user_id, purpose),
  FOREIGN KEY (tenant_id, user_id) REFERENCES directory.user_account ON DELETE CASCADE
);
CREATE INDEX password_link_expires_at ON directory.password_link (expires_at);

-- One-time links that confirm an e-mail address of a person. Only the SHA-256 of a link is stored.
CREATE TABLE directory.email_link (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  digest bytea NOT NULL UNIQUE,
  email text NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, user_id),
  FOREIGN KEY (tenant_id, user_id) REFERENCES directory.user_account ON DELETE CASCADE
);
CREATE INDEX email_link_expires_at ON directory.email_link (expires_at);

-- One-time links with which people make accounts. `identifier` is the address as identifiers are compared; only the
-- SHA-256 of a link is stored.
CREATE TABLE directory.registration_link (
  tenant_id text NOT NULL REFERENCES directory.tenant ON DELETE CASCADE,
  identifier text NOT NULL,
  digest bytea NOT NULL UNIQUE,
  email text NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, identifier)
);
CREATE INDEX registration_link_expires_at ON directory.registration_link (expires_at);

-- Values that work once and are short enough to be guessed, so that a row counts the tries and says whether it was used.
-- `holder` is whose it is, and has one value of a kind at a time. `digest` is keyed. `kept` is what the use of the value
-- tells.
CREATE TABLE directory.one_time_value (
  tenant_id text NOT NULL REFERENCES directory.tenant ON DELETE CASCADE,
  kind text NOT NULL,
  holder text NOT NULL,
  digest bytea NOT NULL,
  kept text NOT NULL,
  tries integer NOT NULL DEFAULT 0,
  used boolean NOT NULL DEFAULT false,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, kind, holder)
);
CREATE INDEX one_time_value_expires_at ON directory.one_time_value (expires_at);

-- Mail that waits to be sent, kept with the change that it announces. `sealed` is what only its sender needs, encrypted;
-- the row is deleted once the mail is sent. `claim` is the number of the last claim, of which `uncounted` were no
-- attempts. Kinds that end with `-request` are what people asked for, before anybody looked whether there is such an
-- account.
CREATE TABLE directory.mail (
  mail_id text PRIMARY KEY,
  tenant_id text NOT NULL REFERENCES directory.tenant ON DELETE CASCADE,
  -- Empty if nobody has an account yet.
  user_id text NOT NULL,
  kind text NOT NULL,
  sealed text NOT NULL,
  claim integer NOT NULL DEFAULT 0,
  uncounted integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  due_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  -- Why the last attempt failed, in one word; null if none did.
  last_error text,
  -- The end of the lease of the process that sends it just now.
  sending_until timestamptz
);
CREATE INDEX mail_due_at ON directory.mail (due_at);
CREATE INDEX mail_expires_at ON directory.mail (expires_at);
-- The mail of a tenant, or of a person, that waits.
CREATE INDEX mail_of_tenant ON directory.mail (tenant_id, user_id, mail_id);

-- How much mail people asked for, by the keyed digest of its address and hour by hour, so that nobody is flooded.
CREATE TABLE directory.mail_quota (
  tenant_id text NOT NULL REFERENCES directory.tenant ON DELETE CASCADE,
  recipient bytea NOT NULL,
  since timestamptz NOT NULL,
  mails integer NOT NULL,
  PRIMARY KEY (tenant_id, recipient)
);
CREATE INDEX mail_quota_since ON directory.mail_quota (since);

-- What a create with a request identifier created (AIP-155), so that its repeat finds it; for 24 hours.
CREATE TABLE directory.create_request (
  tenant_id text NOT NULL,
  request_id text NOT NULL,
  kind text NOT NULL,
  id text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- HMAC-SHA-256, with a key outside the database, of what was asked for, so that its identifier is taken for no other
  -- content.
  digest bytea,
  PRIMARY KEY (tenant_id, request_id)
);
CREATE INDEX create_request_created_at ON directory.create_request (created_at);

-- People and applications that were deleted, for 30 days, so that they can be restored with their identifiers, password
-- hash and secrets. Nothing else reads them.
CREATE TABLE directory.deleted_record (
  tenant_id text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('user', 'application')),
  -- user_id or client_id.
  id text NOT NULL,
  -- What a file knows the record by: the normalized user name, or the client ID.
  name text NOT NULL,
  -- The record by the keys of the declared state, and what its rows held besides.
  record jsonb NOT NULL,
  facts jsonb NOT NULL,
  deleted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, kind, id)
);
CREATE INDEX deleted_record_deleted_at ON directory.deleted_record (deleted_at);
CREATE INDEX deleted_record_name ON directory.deleted_record (tenant_id, kind, name COLLATE "C", id COLLATE "C");
-- No other tenant takes a client ID as long as it may be restored.
CREATE INDEX deleted_record_client_id ON directory.deleted_record (id) WHERE kind = 'application';

-- What changed, in the order of the commits: every writer holds one advisory lock from before its first row here until
-- it has committed.
CREATE TABLE directory.change (
  sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  kind text NOT NULL CHECK (kind IN ('tenant', 'application', 'user')),
  tenant_id text NOT NULL,
  -- client_id or user_id; empty for a tenant.
  id text NOT NULL,
  -- Whether it was not active any more when it changed: disabled, locked or deleted. Who looks later still learns of an
  -- end that was taken back since.
  ended boolean NOT NULL DEFAULT false
);
CREATE INDEX change_recorded_at ON directory.change (recorded_at);

-- Tells every process that follows this record of a row that was committed, so that none has to ask ten times a second.
-- For each row: a statement that writes none must not take the lock of NOTIFY.
CREATE FUNCTION directory.announce_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('tessera_change', TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME);
  RETURN NULL;
END
$$;
CREATE TRIGGER announce_change AFTER INSERT ON directory.change
  FOR EACH ROW EXECUTE FUNCTION directory.announce_change();

CREATE TABLE directory.audit_event (
  event_id text PRIMARY KEY,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  event text NOT NULL,
  tenant_id text,
  outcome text NOT NULL,
  reason text,
  record jsonb NOT NULL
);
-- What people see of what happened to their accounts. Other events, of which there are many, are not in it.
CREATE INDEX audit_event_about_person ON directory.audit_event (tenant_id, (record ->> 'subject'), event_id)
  WHERE event IN ('auth.credential.changed', 'auth.factor.added', 'auth.factor.removed', 'auth.recovery_codes.replaced',
                  'auth.recovery_code.used', 'auth.provider.linked', 'auth.provider.unlinked');

-- People are found by the beginnings of the words of their names and addresses, and by when they last signed in. Triggers keep that, so that
-- it is right whichever version writes.

-- The words of a text, without case and accents, each once, in the order of bytes. What is searched for goes the same way.
CREATE FUNCTION directory.words_of(given text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(array_agg(DISTINCT left(word, 64) COLLATE "C"), '{}')
    FROM regexp_split_to_table(
           lower(regexp_replace(normalize(given, NFKD), '[\u0300-\u036f]', '', 'g')),
           '[\s!-/:-@\[-`{-~\u00a0-\u00bf\u2000-\u206f\u3000-\u303f]+') AS word
   WHERE word <> ''
$$;

CREATE TABLE directory.person_words (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  words text[] NOT NULL,
  PRIMARY KEY (tenant_id, user_id)
);

-- In the order of bytes, whatever the collation is, so that an index finds what a word begins with.
CREATE TABLE directory.person_word (
  tenant_id text NOT NULL,
  word text COLLATE "C" NOT NULL,
  user_id text NOT NULL,
  PRIMARY KEY (tenant_id, word, user_id)
);

-- Beside the account, whose version would be another one after each sign-in. A person who is deleted and brought back has theirs again.
CREATE TABLE directory.person_seen (
  tenant_id text NOT NULL REFERENCES directory.tenant ON DELETE CASCADE,
  user_id text NOT NULL,
  -- The last sign-in, or else when the account was made, or came to be known here: nobody is idle who is new.
  seen_at timestamptz NOT NULL,
  signed_in_at timestamptz,
  -- Whether every sign-in is known; not of accounts that are older than this table.
  from_the_first boolean NOT NULL,
  PRIMARY KEY (tenant_id, user_id)
);
CREATE INDEX person_seen_order ON directory.person_seen (tenant_id, seen_at, user_id);
CREATE INDEX person_never_signed_in ON directory.person_seen (tenant_id, user_id) WHERE signed_in_at IS NULL AND from_the_first;

CREATE FUNCTION directory.index_person(person directory.user_account, is_new boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  wanted text[] := directory.words_of(concat_ws(' ', person.username, person.email, person.name, person.phone_number,
    person.standard_claims ->> 'preferredUsername', person.standard_claims ->> 'givenName', person.standard_claims ->> 'middleName',
    person.standard_claims ->> 'familyName', person.standard_claims ->> 'nickname'));
  present text[];
BEGIN
  INSERT INTO directory.person_seen (tenant_id, user_id, seen_at, from_the_first)
  VALUES (person.tenant_id, person.user_id, clock_timestamp(), is_new) ON CONFLICT DO NOTHING;
  SELECT p.words INTO present FROM directory.person_words p WHERE p.tenant_id = person.tenant_id AND p.user_id = person.user_id;
  IF present = wanted THEN
    RETURN;
  END IF;
  DELETE FROM directory.person_word w
   WHERE w.tenant_id = person.tenant_id AND w.user_id = person.user_id AND w.word = ANY(present) AND w.word <> ALL(wanted);
  INSERT INTO directory.person_word (tenant_id, word, user_id)
  SELECT person.tenant_id, word, person.user_id FROM unnest(wanted) AS word ON CONFLICT DO NOTHING;
  INSERT INTO directory.person_words (tenant_id, user_id, words) VALUES (person.tenant_id, person.user_id, wanted)
  ON CONFLICT (tenant_id, user_id) DO UPDATE SET words = excluded.words;
END
$$;

CREATE FUNCTION directory.index_put_person() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Who is brought back was there before, and is no longer among the deleted records at the end of that transaction.
  PERFORM directory.index_person(NEW, TG_OP = 'INSERT' AND NOT EXISTS (
    SELECT FROM directory.deleted_record d WHERE d.tenant_id = NEW.tenant_id AND d.kind = 'user' AND d.id = NEW.user_id));
  RETURN NULL;
END
$$;
CREATE TRIGGER index_put_person AFTER INSERT OR UPDATE OF username, email, name, phone_number, standard_claims ON directory.user_account
  FOR EACH ROW EXECUTE FUNCTION directory.index_put_person();

CREATE FUNCTION directory.forget_deleted_person() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM directory.person_word w USING directory.person_words p
   WHERE p.tenant_id = OLD.tenant_id AND p.user_id = OLD.user_id
     AND w.tenant_id = OLD.tenant_id AND w.user_id = OLD.user_id AND w.word = ANY(p.words);
  DELETE FROM directory.person_words p WHERE p.tenant_id = OLD.tenant_id AND p.user_id = OLD.user_id;
  RETURN NULL;
END
$$;
CREATE TRIGGER forget_deleted_person AFTER DELETE ON directory.user_account
  FOR EACH ROW EXECUTE FUNCTION directory.forget_deleted_person();

-- For the people who were there before. In short transactions, as each keeps others from changing its people.
CREATE PROCEDURE directory.index_people() LANGUAGE plpgsql AS $$
DECLARE
  last_tenant text := '';
  last_user text := '';
  batch directory.user_account[];
BEGIN
  LOOP
    batch := ARRAY(SELECT u FROM directory.user_account u WHERE (u.tenant_id, u.user_id) > (last_tenant, last_user)
                    ORDER BY u.tenant_id, u.user_id LIMIT 500 FOR SHARE);
    EXIT WHEN cardinality(batch) = 0;
    PERFORM directory.index_person(person, false) FROM unnest(batch) AS person;
    last_tenant := (batch[cardinality(batch)]).tenant_id;
    last_user := (batch[cardinality(batch)]).user_id;
    COMMIT;
  END LOOP;
END
$$;
