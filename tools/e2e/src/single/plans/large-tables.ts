import type { Client } from 'pg';

/** Tables that stay small whatever an installation does: a few keys, one row for a horizon, one for each migration. */
export const smallTables: ReadonlySet<string> = new Set([
  'keys.signing_key',
  'keys.audit_event',
  'directory.pepper_check',
  'token.revocation_horizon',
  'authorize.session_end_horizon',
]);

const audited = ['token', 'authorize', 'device', 'directory'];

/**
 * Fills every table that grows: `rows` people, sessions, families and so on, a tenth as many applications and a hundredth as many
 * tenants. Times spread over the last thirty days.
 */
export async function fillTables(client: Client, rows: number): Promise<void> {
  const tenants = Math.max(1, Math.floor(rows / 100));
  const applications = Math.max(1, Math.floor(rows / 10));
  const tenant = `'t' || i % ${tenants}`;
  const user = `'usr_' || i`;
  const earlier = `now() - i * interval '30 days' / ${rows}`;
  const later = `${earlier} + interval '20 days'`;
  const hash = `sha256(i::text::bytea)`;
  const uuid = `md5(i::text)::uuid`;
  const fill = (table: string, count: number, values: Readonly<Record<string, string>>) =>
    client.query(
      `INSERT INTO ${table} (${Object.keys(values).join(', ')})
       SELECT ${Object.values(values).join(', ')} FROM generate_series(0, ${count - 1}) AS i`,
    );
  // References are right by construction; checking each row takes minutes.
  await client.query('SET session_replication_role = replica');
  await fill('directory.tenant', tenants, { tenant_id: `'t' || i`, name: `'Tenant'`, status: `'active'` });
  await fill('directory.api_resource', tenants, {
    tenant_id: tenant,
    audience: `'https://api'`,
    name: `'API'`,
  });
  await fill('directory.scope', tenants * 5, {
    tenant_id: tenant,
    name: `'scope' || i / ${tenants}`,
    audience: `'https://api'`,
    description: `''`,
    position: '0',
  });
  await fill('directory.role', tenants * 3, { tenant_id: tenant, name: `'role' || i / ${tenants}` });
  await fill('directory.provider', tenants, {
    tenant_id: `'t' || i`,
    name: `'okta'`,
    preset: `'none'`,
    issuer: `'https://login.example'`,
    client_id: `'tessera'`,
    sealed_secret: `''`,
    display_name: `'Work'`,
    scopes: `'{openid}'`,
    domains: `'{}'`,
    linking: `'never'`,
    creates_accounts: 'false',
    owner: `'file'`,
  });
  await fill('directory.provider_identity', rows, {
    tenant_id: tenant,
    provider: `'okta'`,
    issuer: `'https://login.example'`,
    subject: `'subject' || i`,
    user_id: user,
  });
  await fill('directory.application', applications, {
    tenant_id: tenant,
    client_id: `'client' || i`,
    name: `'Application'`,
    type: `'confidential'`,
    status: `'active'`,
    grant_types: `'{client_credentials}'`,
    redirect_uris: `'{}'`,
    logout_redirect_uris: `'{}'`,
    scopes: `'{scope0}'`,
    introspect_audiences: `'{}'`,
    access_token_lifetime: '0',
    id_token_lifetime: '0',
    refresh_token_idle_lifetime: '0',
    refresh_token_absolute_lifetime: '0',
    authorization_request_lifetime: '0',
    ciba_approval: `''`,
    ciba_url: `''`,
  });
  await fill('directory.former_application', applications, { tenant_id: tenant, client_id: `'former' || i` });
  await fill('directory.administered', tenants, { tenant_id: `'gone' || i`, since: earlier });
  await fill('directory.former_tenant', tenants, { tenant_id: `'gone' || i` });
  await fill('directory.deleted_record', rows, {
    tenant_id: tenant,
    kind: `CASE WHEN i % 2 = 0 THEN 'user' ELSE 'application' END`,
    id: `'gone' || i`,
    name: `'gone' || i`,
    record: `'{}'`,
    facts: `'{}'`,
    deleted_at: earlier,
  });
  await fill('directory.application_secret', applications, {
    tenant_id: tenant,
    client_id: `'client' || i`,
    digest: `md5(i::text)`,
  });
  await fill('directory.user_account', rows, {
    tenant_id: tenant,
    user_id: user,
    username: `'user' || i`,
    email: `'user' || i || '@example'`,
    name: `'User'`,
    phone_number: `''`,
    status: `'active'`,
    password_hash: `md5(i::text)`,
  });
  await fill('directory.user_identifier', rows, {
    tenant_id: tenant,
    identifier: `'user' || i`,
    user_id: user,
  });
  await fill('directory.preferred_name', rows, { tenant_id: tenant, user_id: user, name: `'name' || i` });
  await fill('directory.user_role', rows, {
    tenant_id: tenant,
    user_id: user,
    role: `'role0'`,
    position: '0',
  });
  await fill('directory.create_request', rows, {
    tenant_id: tenant,
    request_id: `'r' || i`,
    kind: `'user'`,
    id: user,
    digest: hash,
    created_at: earlier,
  });
  await fill('directory.password_link', rows, {
    tenant_id: tenant,
    user_id: user,
    purpose: `'invitation'`,
    digest: hash,
    valid_from: '0',
    expires_at: later,
  });
  await fill('directory.email_link', rows, {
    tenant_id: tenant,
    user_id: user,
    digest: hash,
    email: `'user' || i || '@example'`,
    expires_at: later,
  });
  await fill('directory.email_proof', rows, {
    tenant_id: tenant,
    user_id: user,
    identifier: `'user' || i || '@example'`,
    provider: `''`,
    issuer: `''`,
  });
  await fill('directory.registration_link', rows, {
    tenant_id: tenant,
    identifier: `'new' || i || '@example'`,
    digest: hash,
    email: `'new' || i || '@example'`,
    expires_at: later,
  });
  await fill('directory.mail', rows, {
    mail_id: `'tm_' || i`,
    tenant_id: tenant,
    user_id: user,
    kind: `'reset'`,
    sealed: `md5(i::text)`,
    due_at: later,
    expires_at: later,
  });
  await fill('directory.mail_quota', rows, {
    tenant_id: tenant,
    recipient: hash,
    since: earlier,
    mails: '1',
  });
  await fill('directory.totp', rows, {
    tenant_id: tenant,
    user_id: user,
    sealed: `md5(i::text)`,
    last_step: '0',
  });
  await fill('directory.recovery_code', rows, { tenant_id: tenant, user_id: user, digest: hash });
  await fill('directory.passkey', rows, {
    tenant_id: tenant,
    credential_id: `md5(i::text)`,
    user_id: user,
    user_handle: `md5(i::text)`,
    rp_id: `'id.example'`,
    public_key: hash,
    sign_count: '0',
    transports: `'{internal}'`,
    synced: 'true',
    backed_up: 'true',
    name: `'Passkey'`,
  });
  await fill('directory.one_time_value', rows, {
    tenant_id: tenant,
    kind: `'trial'`,
    holder: `md5(i::text)`,
    digest: hash,
    kept: user,
    expires_at: later,
  });
  await fill('directory.used_challenge', rows, { tenant_id: tenant, digest: hash, used_at: earlier });
  await fill('directory.change', rows, {
    recorded_at: earlier,
    kind: `'user'`,
    tenant_id: tenant,
    id: user,
  });
  await fill('token.refresh_family', rows, {
    tenant_id: tenant,
    family_id: uuid,
    client_id: `'client' || i % ${applications}`,
    user_id: user,
    generation: '1',
    scopes: `'{openid}'`,
    resource: `''`,
    session_id: `'s' || i`,
    issuer: `'https://issuer'`,
    auth_time: '0',
    created_at: earlier,
    rotated_at: earlier,
    idle_expires_at: later,
    absolute_expires_at: later,
  });
  await fill('token.redemption', rows, {
    tenant_id: tenant,
    kind: `'authorization_code'`,
    hash,
    family_id: uuid,
    redeemed_at: earlier,
  });
  await fill('token.revocation', rows, {
    recorded_at: earlier,
    tenant_id: tenant,
    family_id: uuid,
    client_id: `'client' || i % ${applications}`,
    user_id: user,
    session_id: `'s' || i`,
    resource: `''`,
  });
  await fill('token.ended_session', rows, { tenant_id: tenant, session_id: `'s' || i`, ended_at: earlier });
  await fill('authorize.session', rows, {
    session_id: `'s' || i`,
    token_hash: hash,
    tenant_id: tenant,
    user_id: user,
    auth_time: earlier,
    created_at: earlier,
    last_seen_at: earlier,
    expires_at: later,
    ip_address: `''`,
    user_agent_hash: `''`,
    upstream: `jsonb_build_object('provider', 'okta', 'issuer', 'https://okta.example', 'subject', 'u' || i, 'sid', 's' || i)`,
  });
  await fill('authorize.session_end', rows, {
    recorded_at: earlier,
    tenant_id: tenant,
    session_id: `'s' || i`,
    user_id: user,
  });
  await fill('authorize.known_browser', rows, {
    tenant_id: tenant,
    user_id: user,
    token_hash: hash,
    last_used_at: earlier,
  });
  await fill('authorize.consent', rows, {
    tenant_id: tenant,
    user_id: user,
    client_id: `'client' || i % ${applications}`,
    scopes: `'{openid}'`,
    granted_at: earlier,
  });
  await fill('authorize.used_value', rows, { digest: hash, expires_at: later });
  await fill('authorize.logout_notice', rows, {
    notice_id: `lpad(i::text, 26, '0')`,
    tenant_id: tenant,
    client_id: `'client' || i % ${applications}`,
    user_id: user,
    session_id: `'s' || i`,
    issuer: `'https://issuer'`,
    request_id: `'r' || i`,
    due_at: earlier,
    expires_at: later,
  });
  await fill('keys.tenant_signing_key', tenants * 2, {
    tenant_id: tenant,
    kid: `'k' || i`,
    state: `CASE WHEN i < ${tenants} THEN 'active' ELSE 'retired' END`,
    modulus: `''`,
    exponent: `'AQAB'`,
    wrapped_private_key: `CASE WHEN i < ${tenants} THEN '' END`,
    published_at: earlier,
    activated_at: earlier,
    retired_at: `CASE WHEN i < ${tenants} THEN NULL ELSE ${earlier} END`,
  });
  await fill('keys.algorithm_signing_key', tenants * 2, {
    tenant_id: tenant,
    algorithm: `'ES256'`,
    kid: `'e' || i`,
    state: `CASE WHEN i < ${tenants} THEN 'active' ELSE 'retired' END`,
    public_members: `'{}'`,
    wrapped_private_key: `CASE WHEN i < ${tenants} THEN '' END`,
    published_at: earlier,
    activated_at: earlier,
    retired_at: `CASE WHEN i < ${tenants} THEN NULL ELSE ${earlier} END`,
  });
  await fill('device.decision', rows, {
    tenant_id: tenant,
    kind: `'device_code'`,
    hash,
    client_id: `'client' || i % ${applications}`,
    decision: `'approved'`,
    user_id: user,
    session_id: `'s' || i`,
    auth_time: '0',
    scopes: `'{openid}'`,
    resource: `''`,
    issuer: `'https://issuer'`,
    decided_at: earlier,
    expires_at: later,
  });
  await fill('device.delivery', rows, {
    delivery_id: `lpad(i::text, 26, '0')`,
    tenant_id: tenant,
    client_id: `'client' || i % ${applications}`,
    hash,
    request_id: `'r' || i`,
    user_id: user,
    mode: `'ping'`,
    outcome: `'approved'`,
    awaits_tokens: 'i % 2 = 0',
    sealed: `''`,
    due_at: earlier,
    expires_at: later,
    call_id: `''`,
    ip_address: `''`,
  });
  for (const schema of audited) {
    await fill(`${schema}.audit_event`, rows, {
      event_id: `lpad(i::text, 26, '0')`,
      recorded_at: earlier,
      event: `'token.issued'`,
      tenant_id: tenant,
      outcome: `'success'`,
      record: `'{}'`,
    });
  }
  await client.query('ANALYZE');
}
