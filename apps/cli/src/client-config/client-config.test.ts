import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readState } from '../operate/apply.ts';
import { file, tessera } from '../testing/command.ts';
import { clientConfig } from './client-config.ts';
import { stacks, type Stack } from './stacks.ts';

const secret = 'a-secret-that-no-configuration-may-contain';

/** An application as the stack needs it. */
function declared({ callbackPath = '/callback', withoutPkce }: Partial<Stack>, ...lines: string[]): string {
  return `tenants:
  - id: acme
    name: Acme
    resources:
      - { audience: 'https://orders.acme.example', name: Orders API, scopes: [orders.read] }
    applications:
      - clientId: acme-web
        name: Acme Web
        type: confidential
        secrets: [{ value: ${secret} }]
        grantTypes: [authorization_code, refresh_token, device_code]
        redirectUris: ['https://app.acme.example${callbackPath}']
        logoutRedirectUris: [https://app.acme.example/]
        scopes: [openid, profile, email, offline_access, orders.read]
${withoutPkce ? '        pkce: optional\n' : ''}${lines.join('\n')}`;
}

/** The documentation of a stack. */
async function section(stack: Stack): Promise<string> {
  const { tenants } = await readState('-', { environment: {}, input: async () => declared(stack) });
  const { text } = clientConfig({
    tenants,
    clientId: 'acme-web',
    stack,
    issuer: undefined,
    sharedIssuer: 'https://id.example',
  });
  const language = stack.file.slice(stack.file.lastIndexOf('.') + 1);
  return `## ${stack.id}

${stack.title}: \`${stack.file}\`.${stack.withoutPkce ? ' Declare `pkce: optional`.' : ''} ${stack.note ?? ''}

\`\`\`${language}
${text}\`\`\`
`.replaceAll(/ +$/gm, '');
}

describe('tessera client-config', () => {
  it('prints what docs/clients/configurations.md shows', async () => {
    const sections = await Promise.all(stacks.map(section));
    const page = `# Configurations

What \`tessera client-config acme-web <stack>\` prints for the issuer \`https://id.example\`.
\`CLIENT_SECRET\` is the variable with the secret of the application. [Which clients were tried](README.md).

${sections.join('\n')}`;
    expect(page).not.toContain(secret);
    await expect(page).toMatchFileSnapshot('../../../../docs/clients/configurations.md');
  });

  it.each(stacks)('is documented for $id', ({ id }) => {
    const readme = readFileSync(
      fileURLToPath(new URL('../../../../docs/clients/README.md', import.meta.url)),
      'utf8',
    );
    expect(readme).toContain(`(configurations.md#${id})`);
  });

  it('fills in the values of the declaration, and of the options', async () => {
    const path = file(declared({ callbackPath: '/oauth2/callback' }));
    const { code, said } = await tessera(
      `client-config acme-web oauth2-proxy -f ${path} --issuer https://login.acme.example`,
      { TESSERA_CLIENT_SECRET: secret },
    );
    expect(code).toBe(0);
    expect(said).toContain('oidc_issuer_url = "https://login.acme.example"');
    expect(said).toContain('client_id = "acme-web"');
    expect(said).toContain('redirect_url = "https://app.acme.example/oauth2/callback"');
    expect(said).not.toMatch(/\{\{|undefined/);
    expect(said).not.toContain(secret);
  });

  it("prefers the tenant's own issuer to the shared one", async () => {
    const own = declared({}).replace('name: Acme\n', 'name: Acme\n    issuer: https://id.example/t/acme\n');
    const environment = { TESSERA_ISSUER: 'https://id.example' };
    const { said } = await tessera('client-config acme-web authlib -f -', environment, undefined, own);
    expect(said).toContain('"https://id.example/t/acme/.well-known/openid-configuration"');
  });

  it('says what the declaration lacks', async () => {
    const path = file(declared({}));
    expect(await tessera(`client-config acme-web flask-oidc -f ${path}`, {})).toEqual({
      code: 1,
      said:
        'Declare a redirect URI with the path /authorize for acme-web: flask-oidc needs it.\n' +
        'Declare pkce: optional for acme-web: flask-oidc sends no code challenge.\n',
    });
  });

  it('refuses an unknown application and an unknown stack', async () => {
    const path = file(declared({}));
    expect(await tessera(`client-config nobody authlib -f ${path}`, {})).toEqual({
      code: 1,
      said: 'No tenant of the file declares the application nobody.\n',
    });
    const { code, said } = await tessera(`client-config acme-web cobol -f ${path}`, {});
    expect(code).toBe(2);
    expect(said).toMatch(/^There is no stack cobol\. Choose one of: auth-js, /);
  });
});
