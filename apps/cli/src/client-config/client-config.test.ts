import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { builtInScopes, grantScopes } from '@tessera/oauth';
import { describe, expect, it } from 'vitest';
import { readState } from '../operate/records/declare-state.ts';
import { tessera } from '../testing/run-command.ts';
import { clientConfig } from './client-config.ts';
import { stacks, type Stack } from './stacks.ts';

const secret = 'a-secret-that-no-configuration-may-contain';
const orders = 'https://orders.acme.example';
const billing = 'https://billing.acme.example';

const stackOf = (id: string): Stack => {
  const stack = stacks.find((candidate) => candidate.id === id);
  if (stack === undefined) throw new Error(`There is no stack ${id}.`);
  return stack;
};

/** An application as the stack needs it, with differences. */
function declared(
  { type = 'confidential', callbackPath = '/callback', redirectUri, withoutPkce, tokenType }: Partial<Stack>,
  application: object = {},
  tenant: object = {},
): string {
  const api = (audience: string, name: string) => ({
    audience,
    name,
    scopes: [`${name}.read`],
    tokenType: tokenType ?? 'at+jwt',
  });
  const acmeWeb = {
    clientId: 'acme-web',
    name: 'Acme Web',
    type,
    secrets: type === 'confidential' ? [{ value: secret }] : [],
    grantTypes: ['authorization_code', 'refresh_token', 'device_code'],
    redirectUris: [redirectUri ?? `https://app.acme.example${callbackPath}`],
    logoutRedirectUris: ['https://app.acme.example/'],
    scopes: ['openid', 'profile', 'email', 'offline_access', 'orders.read'],
    introspectAudiences: [orders],
    ...(withoutPkce === true ? { pkce: 'optional' } : {}),
    ...application,
  };
  const resources = [api(orders, 'orders'), api(billing, 'billing')];
  return JSON.stringify({
    tenants: [{ id: 'acme', name: 'Acme', resources, applications: [acmeWeb], ...tenant }],
  });
}

async function print(state: string, words: string, environment: Record<string, string> = {}) {
  const TESSERA_ISSUER = 'https://id.example';
  return tessera(
    `client-config acme-web ${words} -f -`,
    { TESSERA_ISSUER, ...environment },
    undefined,
    state,
  );
}

/** The documentation of a stack. */
async function section(stack: Stack): Promise<string> {
  const { tenants } = await readState('-', { environment: {}, input: async () => declared(stack) });
  const { text } = clientConfig({ tenants, clientId: 'acme-web', stack, issuer: 'https://id.example' });
  const language = stack.file.slice(stack.file.lastIndexOf('.') + 1);
  return `## ${stack.id}

${stack.title}: \`${stack.file}\`.${stack.withoutPkce ? ' Declare `pkce: optional`.' : ''} ${stack.note ?? ''}

\`\`\`${language}
${text}\`\`\`
`.replaceAll(/ +$/gm, '');
}

describe('tessera client-config', () => {
  it('prints what examples/configurations.md shows', async () => {
    const sections = await Promise.all(stacks.map(section));
    const page = `# Configurations

What \`tessera client-config acme-web <stack>\` prints for the issuer \`https://id.example\`.
\`CLIENT_SECRET\` is the variable with the secret of the application. [Which clients were tried](../docs/clients/README.md).

${sections.join('\n')}`;
    expect(page).not.toContain(secret);
    await expect(page).toMatchFileSnapshot('../../../../examples/configurations.md');
  });

  it.each(stacks)('is documented for $id', ({ id }) => {
    const readme = readFileSync(
      fileURLToPath(new URL('../../../../docs/clients/README.md', import.meta.url)),
      'utf8',
    );
    expect(readme).toContain(`(../../examples/configurations.md#${id})`);
  });

  it('fills in the values of the declaration, and of the options', async () => {
    const { code, said } = await print(
      declared({ callbackPath: '/oauth2/callback' }),
      'oauth2-proxy --issuer https://login.acme.example',
      { TESSERA_CLIENT_SECRET: secret },
    );
    expect(code).toBe(0);
    expect(said).toContain('oidc_issuer_url = "https://login.acme.example"');
    expect(said).toContain('client_id = "acme-web"');
    expect(said).toContain('redirect_url = "https://app.acme.example/oauth2/callback"');
    expect(said).not.toMatch(/\{\{|undefined/);
    expect(said).not.toContain(secret);
  });

  it('refuses an unknown application and an unknown stack', async () => {
    expect(await tessera('client-config nobody authlib -f -', {}, undefined, declared({}))).toEqual({
      code: 1,
      said: 'No tenant of the file declares the application nobody.\n',
    });
    const { code, said } = await print(declared({}), 'cobol');
    expect(code).toBe(2);
    expect(said).toMatch(/^There is no stack cobol\. Choose one of: auth-js, /);
  });
});

describe('the issuer of client-config', () => {
  it('has no final slash: endpoints are appended to it', async () => {
    const { said } = await print(declared({}), 'authlib --issuer https://id.example/');
    expect(said).toContain('"https://id.example/.well-known/openid-configuration"');
  });

  it("is the tenant's own one, whatever the deployment's is", async () => {
    const own = declared({}, {}, { issuer: 'https://id.example/t/acme' });
    for (const words of ['authlib', 'authlib --issuer https://id.example']) {
      const { said } = await print(own, words);
      expect(said).toContain('"https://id.example/t/acme/.well-known/openid-configuration"');
      expect(said).toContain('The issuer is https://id.example/t/acme, the own one of the tenant acme.');
    }
  });

  it.each(['id.example', 'ftp://id.example', '//'])('cannot be %s', async (issuer) => {
    expect(await print(declared({}), `authlib --issuer ${issuer}`)).toEqual({
      code: 1,
      said: 'The issuer must be a URL such as https://id.example.com. Correct --issuer or TESSERA_ISSUER.\n',
    });
  });

  it('is split where a product takes origin and path apart', async () => {
    const { said } = await print(declared({}, {}, { issuer: 'https://id.example/t/acme' }), 'caddy');
    expect(said).toContain('forward_auth https://id.example {\n        uri /t/acme/auth/verify?');
    expect(said).toContain('header_up Host id.example\n');
  });
});

/** Names of scopes in the lines about scopes, without the hints. */
function scopesIn(said: string): string[] {
  const known = new Set([...builtInScopes, 'orders.read', 'billing.read']);
  const [configuration = ''] = said.split('This is ');
  const lines = configuration.split('\n').filter((line) => /scope/i.test(line));
  return [...new Set(lines.join(' ').split(/[\s"'=,&;)]+/))].filter((name) => known.has(name));
}

describe('the scopes of client-config', () => {
  const scopes = ['openid', 'email', 'offline_access', 'billing.read', 'orders.read'];
  const available = scopes.map((name) => {
    const audience = { 'orders.read': orders, 'billing.read': billing }[name] ?? '';
    return { name, audience };
  });
  const both = { scopes, introspectAudiences: [orders, billing] };

  it.each(
    stacks.flatMap((stack) => ['', orders, billing].map((audience) => ({ id: stack.id, stack, audience }))),
  )(
    'are those of the application, of one resource, as the server accepts them: $id $audience',
    async ({ id, stack, audience }) => {
      const { code, said } = await print(
        declared(stack, both),
        audience === '' ? id : `${id} --resource ${audience}`,
      );
      if (stack.idTokensOnly === true && audience !== '') {
        expect([code, said]).toEqual([1, expect.stringMatching(/^Leave out --resource: /) as unknown]);
        return;
      }
      expect(code).toBe(0);
      const requested = scopesIn(said);
      if (stack.signsIn === true) expect(requested).toContain('email');
      if (requested.length === 0) return;
      const { resource } = grantScopes({ requested, resource: '', available, person: true });
      if (resource !== '') expect(resource).toBe(audience || orders);
    },
  );

  it('are those of the first resource, and a hint says how to choose another', async () => {
    const { said } = await print(declared({}, both), 'authlib');
    expect(said).toContain('"scope": "openid email offline_access orders.read"');
    expect(said).toContain(`The API is ${orders}. acme-web may also use ${billing}: choose with --resource.`);
    const other = await print(declared({}, both), `authlib --resource ${billing}`);
    expect(other.said).toContain('"scope": "openid email offline_access billing.read"');
  });

  it.each(['kubelogin', 'passport'])('are left out of %s where it adds openid by itself', async (id) => {
    const { code, said } = await print(declared(stackOf(id), { scopes: ['openid'] }), id);
    expect(code).toBe(0);
    expect(said).not.toMatch(/scope/);
  });
});

describe('client-config refuses what cannot work:', () => {
  const cases: [string, string, string, object][] = [
    [
      'a public application with a secret',
      'authlib',
      'Declare type: confidential for acme-web: Authlib authenticates with a secret.',
      { type: 'public', secrets: [] },
    ],
    [
      'an application that its platform proves, without a secret',
      'spring-boot',
      'Declare a secret for acme-web: Spring Boot 4: client authenticates with a secret.',
      {
        secrets: [],
        trusts: [{ issuer: 'https://cluster.example', subject: 'system:serviceaccount:shop:web' }],
      },
    ],
    [
      'an application with keys of its own, without a secret',
      'spring-boot-opaque',
      'Declare a secret for acme-web: Spring Boot: resource server that introspects authenticates with a secret.',
      { secrets: [], jwksUri: 'https://app.acme.example/keys' },
    ],
    [
      'a confidential application without a place for its secret',
      'kubelogin',
      'Declare type: public for acme-web: kubelogin keeps no secret.',
      { type: 'confidential', secrets: [{ value: secret }] },
    ],
    [
      'another grant',
      'go-oidc',
      'Declare the grant type authorization_code for acme-web: go-oidc with x/oauth2 signs people in with it.',
      { grantTypes: ['client_credentials'] },
    ],
    [
      'no ID token',
      'rust',
      'Declare the scope openid for acme-web: Rust openidconnect needs ID tokens.',
      { scopes: ['email'] },
    ],
    [
      'no scope at all',
      'authlib',
      'Declare the scope openid for acme-web: Authlib needs ID tokens.',
      { scopes: [] },
    ],
    [
      'no e-mail address',
      'oauth2-proxy',
      'Declare the scope email for acme-web: oauth2-proxy tells people apart by their e-mail addresses.',
      { scopes: ['openid'] },
    ],
    [
      'no code challenge',
      'flask-oidc',
      'Declare pkce: optional for acme-web: flask-oidc sends no code challenge.',
      { pkce: 'required' },
    ],
    [
      'another redirect URI',
      'flask-oidc',
      'Declare a redirect URI with the path /authorize for acme-web: flask-oidc needs it.',
      { redirectUris: ['https://app.acme.example/callback'] },
    ],
    [
      'another loopback address',
      'kubelogin',
      'Declare the redirect URI http://localhost:8000 for acme-web: kubelogin needs it.',
      { redirectUris: ['http://localhost:8001'] },
    ],
    [
      'no logout redirect URI',
      'express-openid-connect',
      'Declare a logout redirect URI for acme-web: express-openid-connect needs it.',
      { logoutRedirectUris: [] },
    ],
    [
      'no API',
      'nginx',
      'Declare a scope of an API resource for acme-web: nginx auth_request needs it.',
      { scopes: ['openid'] },
    ],
    [
      'no right to introspect',
      'spring-boot-opaque',
      'Declare introspectAudiences with the audience of its API for acme-web: Spring Boot: resource server that introspects introspects tokens of these alone.',
      { introspectAudiences: [] },
    ],
    [
      'a disabled application',
      'authlib',
      'Declare status: active for acme-web: Authlib gets nothing while it or its tenant is disabled.',
      { status: 'disabled' },
    ],
  ];
  it.each(cases)('%s (%s)', async (_what, id, reason, application) => {
    expect(await print(declared(stackOf(id), application), id)).toEqual({ code: 1, said: `${reason}\n` });
  });

  it('access tokens of another type', async () => {
    expect(await print(declared({}), 'spring-boot-jwt')).toEqual({
      code: 1,
      said: `Declare tokenType: JWT at ${orders} for acme-web: Spring Boot: resource server that verifies accepts no other access tokens.\n`,
    });
  });

  it('an issuer with plain http', async () => {
    expect(await print(declared({}), 'kubernetes --issuer http://localhost:8080')).toEqual({
      code: 1,
      said: 'Use an issuer with https: Kubernetes API server accepts no other.\n',
    });
  });

  it.each([
    [
      'authlib',
      'https://other.example',
      `The tenant acme declares no API resource https://other.example. Choose of: ${orders}, ${billing}.`,
    ],
    ['authlib', billing, `Declare a scope of ${billing} for acme-web: --resource names it.`],
    [
      'spring-boot-opaque',
      billing,
      `Declare introspectAudiences: ['${billing}'] for acme-web: --resource names it.`,
    ],
    ['kubelogin', orders, 'Leave out --resource: kubelogin uses ID tokens, which are for no API resource.'],
  ])('%s --resource %s', async (id, audience, reason) => {
    expect(await print(declared(stackOf(id)), `${id} --resource ${audience}`)).toEqual({
      code: 1,
      said: `${reason}\n`,
    });
  });

  it('values that would end a text of the configuration', async () => {
    const resources = [{ audience: "it's", name: 'Orders', scopes: ['orders.read'] }];
    const { said } = await print(declared({}, { introspectAudiences: [] }, { resources }), 'go-api');
    expect(said).toBe(
      'Write the configuration by hand: a scope of an API resource of acme-web has special characters.\n',
    );
  });

  it('several things at once, one sentence each', async () => {
    const { said } = await print(declared({}), 'flask-oidc');
    expect(said).toBe(
      'Declare pkce: optional for acme-web: flask-oidc sends no code challenge.\n' +
        'Declare a redirect URI with the path /authorize for acme-web: flask-oidc needs it.\n',
    );
  });
});
