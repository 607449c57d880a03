import { ConsentsService } from '@tessera/proto-gen/admin-consents';
import { GrantsService } from '@tessera/proto-gen/admin-grants';
import { SessionsService } from '@tessera/proto-gen/admin-sessions';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { Code, ConnectError, timestampFromMs } from '@tessera/rpc';
import { beforeAll, expect, it } from 'vitest';
import { administrationAtHand } from '../testing/administration-at-hand.ts';

const locked = { userId: 'usr_ada', username: 'ada', lockExpireTime: timestampFromMs(1_800_000_000_000) };
const only = <S extends { readonly method: object }>(service: S, ...names: (keyof S['method'])[]) => ({
  ...service,
  methods: names.map((name) => service.method[name as keyof typeof service.method]),
});

let run: Awaited<ReturnType<typeof administrationAtHand>>;
/** An administration that knows Ada, who is locked, has 30 sessions and grants that nobody may read. */
beforeAll(async () => {
  run = await administrationAtHand([
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
      service: only(ConsentsService, 'list'),
      handlers: {
        list: async ({ userId }: { userId: string }) => ({
          consents: [{ userId, clientId: 'partner', scopes: ['openid'], username: 'ada' }],
        }),
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
  ]);
});

const show = async (words: string) => run(`user show --tenant demo ${words}`);

it('shows a person with lock, ways in, sessions and consents, and says what it leaves out', async () => {
  const { code, out, said } = await show('--username ada -o json');
  expect(code).toBe(0);
  const shown = JSON.parse(out) as { readonly sessions: readonly object[] };
  expect(shown).toMatchObject({
    user: { username: 'ada', lockExpireTime: '2027-01-15T08:00:00Z' },
    credentials: { waysIn: ['password'], recoveryCodes: 3 },
    consents: [{ userId: 'usr_ada', clientId: 'partner', scopes: ['openid'] }],
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
    said: 'Name the person: as the argument or by --username or --user-id.\n',
  });
});
