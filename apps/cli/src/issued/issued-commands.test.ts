import { ConsentsService } from '@tessera/proto-gen/admin-consents';
import { MailService } from '@tessera/proto-gen/admin-mail';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { Code, ConnectError, timestampFromMs } from '@tessera/rpc';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { administrationAtHand } from '../testing/administration-at-hand.ts';

const grantTime = timestampFromMs(1_800_000_000_000);
const consents = ['books', 'cards'].map((clientId) => ({
  userId: 'usr_ada',
  username: 'ada',
  clientId,
  scopes: ['openid'],
  grantTime,
}));
const mail = [
  { mailId: 'tm_2', kind: 'reset', username: 'ada', state: 'failed', attempts: 3, lastError: 'smtp_451' },
  { mailId: 'tm_1', kind: 'reset-request', state: 'waiting' },
].map((each, at) => ({ ...each, createTime: timestampFromMs(1_800_000_000_000 - at * 1000) }));

let run: Awaited<ReturnType<typeof administrationAtHand>>;
let asked: object[];
beforeEach(() => {
  asked = [];
});

/** An administration that knows Ada, two consents of hers and two mails. Pages have one each. */
beforeAll(async () => {
  const page = <T>(all: readonly T[], pageToken: string) => ({
    found: all.slice(Number(pageToken), Number(pageToken) + 1),
    nextPageToken: Number(pageToken) + 1 < all.length ? String(Number(pageToken) + 1) : '',
  });
  run = await administrationAtHand([
    {
      service: ConsentsService,
      handlers: {
        list: async ({
          userId,
          clientId,
          pageToken,
        }: Record<'userId' | 'clientId' | 'pageToken', string>) => {
          asked.push({ userId, clientId });
          const { found, ...rest } = page(consents, pageToken);
          return { consents: found, ...rest };
        },
        delete: async (consent: { userId: string; clientId: string }) => {
          asked.push({ userId: consent.userId, clientId: consent.clientId });
          if (consent.clientId !== 'books') throw new ConnectError('no', Code.NotFound);
          return { revokedGrants: 2 };
        },
      },
    },
    {
      service: MailService,
      handlers: {
        list: async ({ userId, state, pageToken }: Record<'userId' | 'state' | 'pageToken', string>) => {
          asked.push({ userId, state });
          const { found, ...rest } = page(mail, pageToken);
          return { mail: found, ...rest };
        },
        delete: async ({ mailId }: { mailId: string }) => {
          asked.push({ mailId });
          if (mailId !== 'tm_1') throw new ConnectError('no', Code.NotFound);
          return {};
        },
      },
    },
    {
      service: { ...DirectoryService, methods: [DirectoryService.method.findUser] },
      handlers: { findUser: async () => ({ user: { userId: 'usr_ada', username: 'ada' } }) },
    },
  ]);
});

describe('tessera consent', () => {
  it('lists what people allowed applications, page after page', async () => {
    const { code, out } = await run('consent list ada --tenant demo --client-id books');
    expect(code).toBe(0);
    expect(out.split('\n').map((line) => line.split(/ {2,}/).slice(0, 3))).toEqual([
      ['USERNAME', 'CLIENT ID', 'SCOPES'],
      ['ada', 'books', 'openid'],
      ['ada', 'cards', 'openid'],
      [''],
    ]);
    const whose = { userId: 'usr_ada', clientId: 'books' };
    expect(asked).toEqual([whose, whose]);
    const limited = await run('consent list --tenant demo --limit 1 -o json');
    expect(JSON.parse(limited.out)).toMatchObject([{ clientId: 'books', grantTime: '2027-01-15T08:00:00Z' }]);
    expect(asked.at(-1)).toEqual({ userId: '', clientId: '' });
  });

  it('revokes what one person allowed one application, and says what it revoked', async () => {
    const revoke = async (words: string) => run(`consent revoke --tenant demo ${words}`);
    const { code, said } = await revoke('ada --client-id books');
    expect([code, said]).toEqual([
      0,
      'books has to ask the person again. Revoked grants: 2. Access tokens live until they expire.\n',
    ]);
    expect(asked).toEqual([{ userId: 'usr_ada', clientId: 'books' }]);
    expect(await revoke('ada --client-id other')).toMatchObject({
      code: 1,
      said: 'The person has allowed other nothing in the tenant demo.\n',
    });
    expect((await revoke('--client-id books')).code).toBe(2);
    expect((await revoke('ada')).code).not.toBe(0);
  });
});

describe('tessera mail', () => {
  it('lists what waits, the oldest first, and why it was not sent', async () => {
    const { code, out } = await run('mail list --tenant demo --state failed ada');
    expect(code).toBe(0);
    expect(out.split('\n').map((line) => line.split(/ {2,}/).slice(0, 4))).toEqual([
      ['MAIL ID', 'USERNAME', 'KIND', 'STATE'],
      ['tm_1', '-', 'reset-request', 'waiting'],
      ['tm_2', 'ada', 'reset', 'failed'],
      [''],
    ]);
    expect(out).toContain('smtp_451');
    expect(asked.at(-1)).toEqual({ userId: 'usr_ada', state: 'failed' });
    expect((await run('mail list --tenant demo --state sent')).code).not.toBe(0);
  });

  it('deletes one, and says which does not wait', async () => {
    expect(await run('mail delete tm_1 --tenant demo')).toMatchObject({
      code: 0,
      said: 'The mail is deleted and will not be sent.\n',
    });
    expect(await run('mail delete --mail-id tm_3 --tenant demo')).toMatchObject({
      code: 1,
      said: 'No mail tm_3 waits in the tenant demo.\n',
    });
    expect(asked).toEqual([{ mailId: 'tm_1' }, { mailId: 'tm_3' }]);
    expect((await run('mail delete --tenant demo')).code).toBe(2);
  });
});

it('a person is not named beside one session, which may be somebody else’s', async () => {
  const { code, said } = await run('session revoke ada --tenant demo --session-id x');
  expect([code, said]).toEqual([
    2,
    'Name a person, whose sessions all end, or one session by --session-id.\n',
  ]);
});
