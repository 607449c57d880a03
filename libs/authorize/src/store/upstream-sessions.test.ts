import { systemRandom } from '@tessera/kit';
import type { Database } from '@tessera/stores';
import { runsEverything, testDatabase, testEmbeddedDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { migrations } from '../wiring.ts';
import { ending, opened } from './session-store.contract.ts';
import { createSessionStore } from './session-store.postgres.ts';
import { createUpstreamSessions, type EndedUpstream } from './upstream-sessions.postgres.ts';

upstreamContract('postgres', async () => testDatabase(migrations));
if (runsEverything) upstreamContract('pglite', async () => testEmbeddedDatabase(migrations));

/** The sessions that providers made, on any engine. */
function upstreamContract(engine: string, open: () => Promise<Database>): void {
  let database: Database;
  beforeAll(async () => {
    database = await open();
  });

  /** A person at a provider. */
  function somebody() {
    const subject = systemRandom.bytes(8).toString('hex');
    const upstream = { provider: 'corp', issuer: 'https://idp.example', subject };
    const { provider, issuer } = upstream;
    const store = createSessionStore(database);
    return {
      store,
      upstream,
      signIn: async (sid?: string, difference: object = {}) => {
        const made = { ...upstream, ...(sid !== undefined && { sid }) };
        return opened(store, { methods: ['fed'], upstream: made, ...difference });
      },
      end: async (over: Partial<EndedUpstream> = {}, isFirst = async () => true) => {
        const ended = await createUpstreamSessions(database).end(
          { tenantId: 'acme', provider, issuer, ...over },
          {
            isFirst,
            ending: ({ sessionId }) => ending(sessionId, 'provider'),
            before: async () => undefined,
          },
        );
        return ended?.map(({ sessionId }) => sessionId).toSorted();
      },
    };
  }
  const ids = (...sessions: readonly { record: { sessionId: string } }[]) =>
    sessions.map(({ record }) => record.sessionId).toSorted();

  describe(`sessions of providers on ${engine}`, () => {
    it('end by sid, or by subject: those without a sid may be any of the person', async () => {
      const { signIn, end, upstream } = somebody();
      const { subject } = upstream;
      const [a, b, without] = [await signIn(`${subject}-a`), await signIn(`${subject}-b`), await signIn()];
      expect(await end({ sid: `${subject}-x` })).toEqual([]);
      expect(await end({ sid: `${subject}-a` })).toEqual(ids(a));
      expect(await end({ sid: `${subject}-a` }), 'again').toEqual([]);
      expect(await end({ sid: `${subject}-x`, subject })).toEqual(ids(without));
      const more = await signIn();
      expect(await end({ subject })).toEqual(ids(b, more));
    });

    it('are not those of another tenant, provider, issuer or person', async () => {
      const { signIn, end, upstream } = somebody();
      const { subject } = upstream;
      const session = await signIn(`${subject}-a`);
      for (const other of [
        { tenantId: 'umbra' },
        { provider: 'other' },
        { issuer: 'https://evil.example' },
        { subject: 'somebody else' },
      ])
        expect(await end({ sid: `${subject}-a`, subject, ...other })).toEqual([]);
      expect(await end({ sid: `${subject}-a`, subject })).toEqual(ids(session));
    });

    it('end in pages, all of them, and none if it is not the first time or something fails', async () => {
      const { signIn, end, upstream, store } = somebody();
      const { subject } = upstream;
      const sessions = [];
      for (let index = 0; index < 120; index += 1) sessions.push(await signIn());
      expect(await end({ subject }, async () => false)).toBeUndefined();
      let count = 0;
      const failing = createUpstreamSessions(database).end(
        { tenantId: 'acme', ...upstream },
        {
          isFirst: async () => true,
          ending: ({ sessionId }) => ending(sessionId, 'provider'),
          before: async () => {
            count += 1;
            if (count === 110) throw new Error('the code store fails');
          },
        },
      );
      await expect(failing).rejects.toThrow('the code store fails');
      const [first] = sessions;
      expect(await store.find(first?.record.tokenHash ?? Buffer.alloc(32), 3600)).toBeDefined();
      expect(await end({ subject })).toEqual(ids(...sessions));
    });

    it('end once if the person signs out at the same time, in 20 rounds', async () => {
      const { signIn, end, upstream, store } = somebody();
      for (let round = 0; round < 20; round += 1) {
        const { record } = await signIn();
        const [ended, isOut] = await Promise.all([
          end({ subject: upstream.subject }),
          store.end(ending(record.sessionId)),
        ]);
        expect(ended).toEqual(isOut ? [] : [record.sessionId]);
      }
    });

    it('hand the session at the provider on to the one that takes their place, if that relies on it too', async () => {
      const { signIn, store, upstream } = somebody();
      const { record } = await signIn('a-sid');
      const next = async (difference: object) => {
        const previous = { previousTokenHash: record.tokenHash, ...difference };
        const { record: taken } = await opened(store, previous);
        return (await store.identify(taken.tokenHash))?.upstream;
      };
      expect(await next({ methods: ['fed', 'otp'] })).toEqual({ ...upstream, sid: 'a-sid' });
      expect(await next({ methods: ['pwd'] })).toBeUndefined();
      expect(await next({ methods: ['fed'], userId: 'somebody else' })).toBeUndefined();
      const own = { ...upstream, sid: 'another' };
      expect(await next({ methods: ['fed'], upstream: own })).toEqual(own);
      await store.end(ending(record.sessionId));
      expect(await next({ methods: ['fed'] }), 'after a sign-out').toBeUndefined();
    });
  });
}
