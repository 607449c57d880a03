import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { claimsOf, describeFailure, introspect, tokensOf } from '@tessera/test-client';
import { secrets } from '../../harness/declared-state.ts';
import { clientCredentials, codeFor, redeem, refresh } from '../../harness/flows.ts';
import type { System } from '../../harness/set-up.ts';

const run = promisify(execFile);

/** The administration API as its administrators see it, over the wire of the set-up. */
export function administrationSuite(system: () => System): void {
  /** An access token of `acme-admin`; `acme` is the operator tenant. */
  async function tokenWith(scope: string): Promise<string> {
    const form = {
      grant_type: 'client_credentials',
      client_id: 'acme-admin',
      client_secret: secrets.admin,
      scope,
    };
    const answer = await system().http.ask('POST', '/token', { form });
    const { access_token: token } = answer.json() as { access_token?: string };
    if (token === undefined) throw new Error(describeFailure(answer));
    return token;
  }

  /** What curl hears, and the status; over TLS without a certificate where the set-up has certificates. */
  async function curl(
    method: string,
    request: object,
    token?: string,
  ): Promise<readonly [status: number, body: unknown]> {
    const { topology, rpc } = system().setUp;
    const settings = system().environmentOf(topology === 'split' ? 'admin' : 'standalone');
    const { TESSERA_ADMIN_PORT: port = '', TESSERA_RPC_TLS_DIR: certificates = '' } = settings;
    const origin = rpc === 'mtls' ? `https://localhost:${port}` : `http://localhost:${port}`;
    const { stdout } = await run('curl', [
      '-sS',
      '--ipv4',
      '-w',
      '\n%{http_code}',
      ...(rpc === 'mtls' ? ['--cacert', `${certificates}/ca.crt`] : []),
      '-H',
      'content-type: application/json',
      '-d',
      JSON.stringify(request),
      ...(token === undefined ? [] : ['-H', `authorization: Bearer ${token}`]),
      `${origin}/tessera.admin.v1.${method}`,
    ]);
    const [body = '', status] = stdout.split('\n');
    return [Number(status), JSON.parse(body)];
  }

  describe('the administration API', () => {
    it('serves administrators with an access token', async () => {
      const token = await tokenWith('admin.users.read admin.users.write');
      expect(claimsOf(token)).toMatchObject({ aud: 'urn:tessera:admin' });
      const [made, user] = await curl(
        'UsersService/Create',
        { tenantId: 'globex', user: { username: 'zoe' } },
        token,
      );
      expect([made, user]).toEqual([200, expect.objectContaining({ username: 'zoe', owner: 'api' })]);
      const { userId } = user as { userId: string };
      const [, found] = await curl('UsersService/List', { tenantId: 'globex', search: 'zoe' }, token);
      expect(found).toEqual({ users: [user] });
      expect(await curl('UsersService/Get', { tenantId: 'acme', userId }, token)).toMatchObject([404, {}]);
      expect(await curl('UsersService/Delete', { tenantId: 'globex', userId }, token)).toEqual([200, {}]);
    });

    it('takes no token along where its process fails', async () => {
      const { http, processes, setUp } = system();
      const admin = processes.find(({ name }) => name === 'admin');
      // Compact has one process for everything.
      expect(admin === undefined).toBe(setUp.topology === 'compact');
      if (admin === undefined) return;
      await admin.kill();
      try {
        await expect(curl('UsersService/List', { tenantId: 'globex' })).rejects.toThrow();
        const first = tokensOf(await redeem(http, await codeFor(system().person())));
        const next = tokensOf(await refresh(http, first.refreshToken));
        tokensOf(await clientCredentials(http));
        expect(await introspect(http, next.accessToken)).toMatchObject({ active: true });
      } finally {
        await system().restart('admin');
      }
    });

    it('refuses everybody else', async () => {
      const list = ['UsersService/List', { tenantId: 'globex' }] as const;
      expect(await curl(...list)).toMatchObject([401, { code: 'unauthenticated' }]);
      const writer = await tokenWith('admin.users.write');
      expect(await curl(...list, writer)).toMatchObject([403, { code: 'permission_denied' }]);
      const give = { tenantId: 'globex', user: { username: 'mallory', roles: ['tessera.administrator'] } };
      expect(await curl('UsersService/Create', give, writer)).toMatchObject([
        403,
        { message: expect.stringContaining('Nobody gives what they do not hold') as string },
      ]);
      const form = {
        grant_type: 'client_credentials',
        client_id: 'acme-service',
        client_secret: secrets.service,
        scope: 'orders.read',
      };
      const { access_token: other } = (await system().http.ask('POST', '/token', { form })).json() as {
        access_token: string;
      };
      expect(await curl(...list, other)).toMatchObject([
        401,
        { message: expect.stringContaining('urn:tessera:admin') as string },
      ]);
    });
  });
}
