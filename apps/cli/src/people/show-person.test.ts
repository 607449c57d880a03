import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { announceAdministration } from '@tessera/admin';
import { Secret, systemRandom } from '@tessera/kit';
import { GrantsService } from '@tessera/proto-gen/admin-grants';
import { SessionsService } from '@tessera/proto-gen/admin-sessions';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { DirectoryService } from '@tessera/proto-gen/directory';
import {
  Code,
  ConnectError,
  createProver,
  serveConnect,
  timestampFromMs,
  type BuiltService,
} from '@tessera/rpc';
import { silentLog } from '@tessera/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { printed } from '../testing/run-command.ts';

const token = new Secret('a-token-that-is-in-the-file-alone');
const locked = { userId: 'usr_ada', username: 'ada', lockExpireTime: timestampFromMs(1_800_000_000_000) };
const only = <S extends { readonly method: object }>(service: S, ...names: (keyof S['method'])[]) => ({
  ...service,
  methods: names.map((name) => service.method[name as keyof typeof service.method]),
});

/** An administration that knows Ada, who is locked, has 30 sessions and grants that nobody may read. */
const administration: BuiltService = {
  name: 'admin',
  routes: [
    {
      service: only(UsersService, 'get', 'getCredentials'),
      handlers: {
        get: async () => locked,
        getCredentials: async () => ({ waysIn: ['password'], recoveryCodes: 3 }),
      },
    },
    {
      service: only(SessionsService, 'list'),
      handlers: {
        // Pages may be short although there are more.
        list: async ({ pageToken }: { pageToken: string }) => {
          const at = Number(pageToken);
          const sessions = Array.from({ length: 3 }, (_, index) => ({ sessionId: `s${at + index}` }));
          return { sessions, nextPageToken: at + 3 < 30 ? String(at + 3) : '' };
        },
      },
    },
    {
      service: only(GrantsService, 'list'),
      handlers: {
        list: async () => {
          throw new ConnectError('It needs admin.grants.read.', Code.PermissionDenied);
        },
      },
    },
    {
      service: only(DirectoryService, 'findUser'),
      handlers: {
        findUser: async ({ identifier }: { identifier: string }) => {
          if (identifier !== 'ada') throw new ConnectError('no', Code.NotFound);
          return { user: locked };
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
  folder = await mkdtemp(join(tmpdir(), 'tessera-show-'));
  const prover = createProver(token, systemRandom);
  const credentials = { kind: 'token', token, of: 'operator', prover } as const;
  server = await serveConnect(administration, { host: '127.0.0.1', port: 0, credentials, log: silentLog() });
  await announceAdministration(folder, { target: `127.0.0.1:${server.port}`, token });
});
afterAll(async () => {
  await server.drain();
  await rm(folder, { recursive: true });
});

const show = async (words: string) =>
  printed(`user show --tenant demo ${words}`, { TESSERA_DATA_DIR: folder, XDG_CONFIG_HOME: folder }, fetch);

it('shows a person with lock, ways in and sessions, and says what it leaves out', async () => {
  const { code, out, said } = await show('--username ada -o json');
  expect(code).toBe(0);
  const shown = JSON.parse(out) as { readonly sessions: readonly object[] };
  expect(shown).toMatchObject({
    user: { username: 'ada', lockExpireTime: '2027-01-15T08:00:00Z' },
    credentials: { waysIn: ['password'], recoveryCodes: 3 },
  });
  expect(shown.sessions.length).toBeGreaterThanOrEqual(20);
  expect(shown).not.toHaveProperty('grants');
  expect(said).toContain('There are more than 20 sessions: tessera session list.\n');
  expect(said).toContain('Not shown: grants. It needs admin.grants.read.\n');
});

it('says who is unknown, and asks for a person', async () => {
  expect(await show('--username eve')).toMatchObject({
    code: 1,
    said: 'There is no user eve in the tenant demo.\n',
  });
  expect(await show('-o yaml')).toMatchObject({
    code: 2,
    said: 'Name the person: --username or --user-id.\n',
  });
});
