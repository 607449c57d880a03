import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { type Nginx, startNginx } from '@tessera/test-kit/provision';
import { tokensOf } from '@tessera/test-client';
import { clientCredentials, codeFor, redeem } from '../../harness/flows.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { declaredState } from '../../harness/declared-state.ts';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';

const root = fileURLToPath(new URL('../../../../../', import.meta.url));
const identity = ['x-auth-subject', 'x-auth-client-id', 'x-auth-tenant-id', 'x-auth-scope', 'x-auth-roles'];

/** The configuration of docs/verifying-tokens.md; it names `orders`, `tessera-gateway` and `id.example.com`. */
function documented(): string {
  const page = readFileSync(`${root}docs/verifying-tokens.md`, 'utf8');
  return /^```nginx\n([^]*?)^```$/m.exec(page)?.[1] ?? '';
}

/** What `tessera client-config` prints; it names an API on port 8081. */
function printed(issuer: string): string {
  const args = 'apps/cli/src/main.ts client-config acme-service nginx -f - --issuer';
  return execFileSync(process.execPath, [...args.split(' '), issuer], {
    cwd: root,
    input: declaredState(),
    env: { PATH: process.env['PATH'] ?? '' },
    stdio: ['pipe', 'pipe', 'ignore'],
  }).toString();
}

/** A real nginx between a caller and an API that answers with the headers of the request. */
describe('nginx with auth_request', () => {
  let system: System;
  let api: Server;
  const proxies: Record<string, Nginx> = {};
  beforeAll(async () => {
    system = await startSystem(setUps['compact-embedded']);
    api = createServer((request, response) => response.end(JSON.stringify(request.headers)));
    await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
    const { host } = new URL(system.baseUrl);
    const { port } = api.address() as AddressInfo;
    const upstreams = `upstream tessera-gateway { server ${host}; }\nupstream orders { server 127.0.0.1:${port}; }`;
    proxies['docs/verifying-tokens.md'] = await startNginx(
      upstreams,
      documented().replace('Host id.example.com', `Host ${host}`),
    );
    proxies['tessera client-config'] = await startNginx(
      '',
      printed(system.baseUrl).replace('127.0.0.1:8081', `127.0.0.1:${port}`),
    );
  });
  afterAll(async () => {
    for (const proxy of Object.values(proxies)) await proxy.stop();
    api?.close();
    await system?.stop();
  });

  const ask = (by: string, headers: Record<string, string>) =>
    fetch(`${proxies[by]?.url}/orders/1`, { headers });

  /** What the API receives in headers that begin with `X-Auth`, in any spelling. */
  async function received(by: string, token: string): Promise<IncomingHttpHeaders> {
    const names = [...identity, ...identity.map((name) => name.replaceAll('-', '_')), 'x-auth.roles'];
    const forged = Object.fromEntries(names.map((name) => [name, 'forged']));
    const answer = await ask(by, { ...forged, authorization: `Bearer ${token}` });
    expect(answer.status).toBe(200);
    const all = Object.entries((await answer.json()) as IncomingHttpHeaders);
    return Object.fromEntries(all.filter(([name]) => /^x[^a-z0-9]auth/.test(name)));
  }

  describe.each(['docs/verifying-tokens.md', 'tessera client-config'])('as %s shows it', (by) => {
    it('replaces every identity header that the caller sent', async () => {
      const { accessToken } = tokensOf(await redeem(system.http, await codeFor(system.person())));
      expect(await received(by, accessToken)).toEqual({
        'x-auth-subject': expect.stringMatching(/^usr_/) as unknown,
        'x-auth-client-id': 'acme-web',
        'x-auth-tenant-id': 'acme',
        'x-auth-scope': expect.stringContaining('orders.read') as unknown,
        'x-auth-roles': 'clerk',
      });
    });

    it('removes those for which the token has no value', async () => {
      const { accessToken } = tokensOf(await clientCredentials(system.http, 'acme-service', 'standard'));
      expect(await received(by, accessToken)).toEqual({
        'x-auth-subject': 'acme-service',
        'x-auth-client-id': 'acme-service',
        'x-auth-tenant-id': 'acme',
        'x-auth-scope': 'orders.read',
      });
    });

    it('answers 401 without a token and with a wrong one', async () => {
      expect((await ask(by, {})).status).toBe(401);
      expect((await ask(by, { authorization: 'Bearer wrong' })).status).toBe(401);
    });
  });
});
