import { AuditService } from '@tessera/proto-gen/admin-audit';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { Code, ConnectError } from '@tessera/rpc';
import { beforeAll, expect, it } from 'vitest';
import { administrationAtHand } from '../testing/administration-at-hand.ts';

let run: Awaited<ReturnType<typeof administrationAtHand>>;
/** An administration with one event about Ada, `usr_ada` of the tenant demo, and one about the client `demo-web`. */
beforeAll(async () => {
  run = await administrationAtHand([
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
  ]);
});

const search = async (words: string) => run(`audit search ${words}`);

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
