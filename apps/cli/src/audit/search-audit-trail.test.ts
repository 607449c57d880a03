import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { announceAdministration } from '@tessera/admin';
import { Secret, systemRandom } from '@tessera/kit';
import { AuditService } from '@tessera/proto-gen/admin-audit';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { Code, ConnectError, createProver, serveConnect, type BuiltService } from '@tessera/rpc';
import { silentLog } from '@tessera/test-kit';
import { beforeAll, afterAll, expect, it } from 'vitest';
import { printed } from '../testing/run-command.ts';

const token = new Secret('a-token-that-is-in-the-file-alone');

/** An administration with one event about Ada, `usr_ada` of the tenant demo, and one about the client `demo-web`. */
const administration: BuiltService = {
  name: 'admin',
  routes: [
    {
      service: AuditService,
      handlers: {
        search: async ({ about }: { about: string }) => {
          const events = [
            { event: 'user.disabled', subject: 'usr_ada' },
            { event: 'client.updated', clientId: 'demo-web' },
          ];
          return { events: events.filter(({ subject, clientId }) => [subject, clientId].includes(about)) };
        },
      },
    },
    {
      service: { ...DirectoryService, methods: [DirectoryService.method.findUser] },
      handlers: {
        findUser: async ({ tenantId, identifier }: { tenantId: string; identifier: string }) => {
          if (tenantId !== 'demo' || identifier !== 'ada') throw new ConnectError('no', Code.NotFound);
          return { user: { userId: 'usr_ada', username: 'ada' } };
        },
      },
    },
  ],
  ready: async () => undefined,
  close: async () => undefined,
};

let folder: string;
let server: Awaited<ReturnType<typeof serveConnect>>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-audit-'));
  const prover = createProver(token, systemRandom);
  const credentials = { kind: 'token', token, of: 'operator', prover } as const;
  server = await serveConnect(administration, { host: '127.0.0.1', port: 0, credentials, log: silentLog() });
  await announceAdministration(folder, { target: `127.0.0.1:${server.port}`, token });
});
afterAll(async () => {
  await server.drain();
  await rm(folder, { recursive: true });
});

const search = async (words: string) =>
  printed(`audit search ${words}`, { TESSERA_DATA_DIR: folder, XDG_CONFIG_HOME: folder }, fetch);

it('finds what is about a person by her user name, and says who that is', async () => {
  const { code, out, said } = await search('--tenant demo --about ada');
  expect([code, out]).toEqual([0, expect.stringContaining('user.disabled')]);
  expect(said).toContain('ada is usr_ada.\n');
});

it.each(['usr_ada', 'demo-web'])('takes the identifier %s as it is', async (about) => {
  const { out, said } = await search(`--tenant demo --about ${about}`);
  expect(out.split('\n').filter(Boolean)).toHaveLength(2);
  expect(said).toBe(out);
});

it.each(['--about ada', '--tenant demo --about bob'])(
  'says what to give if %s finds nothing',
  async (words) => {
    const { code, said } = await search(words);
    expect(code).toBe(0);
    expect(said).toMatch(/No event is about (ada|bob)\. --about takes an identifier, such as usr_\.\.\./);
  },
);
