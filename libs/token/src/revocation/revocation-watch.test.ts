import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Code, local, rootCall, type Principal } from '@tessera/rpc';
import { Status } from '@tessera/proto-gen/directory';
import {
  IntrospectionService,
  RevocationKind,
  type WatchRevocationsResponse,
} from '@tessera/proto-gen/token';
import { orders } from '../testing/declared-records.ts';
import { asPrincipal } from '../testing/principal.ts';
import { call, caller, claimsOf, codeOf, world, type World } from '../testing/world.ts';

let on: World;
beforeAll(async () => {
  on = await world({
    settings: {
      TESSERA_INTROSPECTION_CERTIFICATE_CLIENTS: `introspector.orders=acme ${orders},introspector.all=*`,
    },
  });
});
afterAll(() => on.close());

interface Watcher {
  readonly messages: WatchRevocationsResponse[];
  readonly cursor: () => string;
  readonly ended: Promise<unknown>;
  /** Ends of the given kind heard so far. */
  ends(kind: RevocationKind): WatchRevocationsResponse[];
  stop(): Promise<void>;
}

/** Watches from the first message on. */
async function watch(
  request: { cursor?: string; since?: bigint } = {},
  principal?: Principal,
): Promise<Watcher> {
  const service = principal === undefined ? on.service : asPrincipal(on.service, principal);
  const client = local(IntrospectionService, service, 'introspector', on.runtime.log);
  const stopping = new AbortController();
  const messages: WatchRevocationsResponse[] = [];
  const opened = Promise.withResolvers<void>();
  const ended = (async () => {
    try {
      const stream = client.watchRevocations(request, rootCall('a-watch', undefined, stopping.signal));
      for await (const message of stream) {
        messages.push(message);
        opened.resolve();
      }
      return 'ended';
    } catch (error) {
      opened.reject(error);
      return error;
    }
  })();
  await opened.promise;
  return {
    messages,
    ended,
    cursor: () => messages.at(-1)?.cursor ?? '',
    ends: (kind) => messages.filter((message) => message.kind === kind),
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}

async function within(ms: number, what: () => boolean): Promise<number> {
  const start = performance.now();
  while (performance.now() - start < ms) {
    if (what()) return performance.now() - start;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error(`not within ${ms} ms`);
}

const { ACCESS_TOKEN, REFRESH_FAMILY, SESSION, SUBJECT, APPLICATION, TENANT } = RevocationKind;
const revokeOne = async (clientId = 'web') => {
  const { refreshToken } = await on.signIn({ clientId });
  await on.token.revoke({ token: refreshToken, caller }, call());
};
/** For what needs not be quick: a busy machine may take its time. */
const patience = 10_000;
const settled = () => new Promise((resolve) => setTimeout(resolve, 300));

describe('the revocation watch', () => {
  it('starts with a position and then reports each revoked family within 250 ms, once', async () => {
    const watcher = await watch();
    expect(watcher.messages).toMatchObject([{ kind: RevocationKind.UNSPECIFIED, tenantId: '' }]);
    await revokeOne();
    await within(250, () => watcher.ends(REFRESH_FAMILY).length === 1);
    const [end] = watcher.ends(REFRESH_FAMILY);
    expect(end).toMatchObject({ tenantId: 'acme', sub: 'ada', clientId: 'web', sessionId: 'session-1' });
    expect(Math.abs(Number(end?.endedAt) - Date.now() / 1000)).toBeLessThan(5);
    await settled();
    expect(watcher.ends(REFRESH_FAMILY)).toHaveLength(1);
    await watcher.stop();
  });

  it('reports the access token of a code used twice, and its family (RFC 6749 section 4.1.2)', async () => {
    const watcher = await watch();
    for (const scopes of [
      ['openid', 'orders.read'],
      ['openid', 'offline_access', 'orders.read'],
    ]) {
      const code = on.newCode({ scopes });
      const { jti } = claimsOf((await on.redeem(code)).accessToken);
      for (let time = 0; time < 2; time += 1) await codeOf(on.redeem(code));
      const named = () => watcher.ends(ACCESS_TOKEN).filter((message) => message.jti === jti);
      await within(250, () => named().length === 1);
      expect(named()).toMatchObject([
        { tenantId: 'acme', sub: 'ada', clientId: 'web', sessionId: 'session-1', familyId: '' },
      ]);
    }
    await settled();
    expect([watcher.ends(ACCESS_TOKEN).length, watcher.ends(REFRESH_FAMILY).length]).toEqual([2, 1]);
    await watcher.stop();
  });

  it('reports revocations of another replica within 250 ms', async () => {
    const other = await world({ runtime: { database: on.database } });
    const watcher = await watch();
    const { refreshToken } = await on.signIn();
    const revoked = other.token.revoke({ token: refreshToken, caller }, call());
    await revoked;
    await within(250, () => watcher.ends(REFRESH_FAMILY).length === 1);
    await watcher.stop();
    await other.close();
  });

  it('reports ended sessions, users, applications and tenants, and no other changes', async () => {
    const watcher = await watch();
    on.authorize.endSession('session-9');
    await on.directory.changeUser('bob', (user) => (user.name = 'Bob'));
    await on.directory.changeUser('bob', (user) => (user.status = Status.LOCKED));
    await on.directory.changeUser('bob', (user) => (user.status = Status.ACTIVE));
    await on.directory.changeApplication('other', (record) => (record.status = Status.DISABLED));
    await on.directory.changeApplication('other', (record) => (record.status = Status.ACTIVE));
    await on.directory.changeTenant('globex', Status.DISABLED);
    await on.directory.changeTenant('globex', Status.ACTIVE);
    await within(250, () => watcher.ends(TENANT).length === 1);
    await settled();
    expect(watcher.ends(SESSION)).toMatchObject([{ tenantId: 'acme', sub: 'ada', sessionId: 'session-9' }]);
    expect(watcher.ends(SUBJECT)).toMatchObject([{ tenantId: 'acme', sub: 'bob' }]);
    expect(watcher.ends(APPLICATION)).toMatchObject([{ tenantId: 'acme', clientId: 'other' }]);
    expect(watcher.ends(TENANT)).toMatchObject([{ tenantId: 'globex' }]);
    await watcher.stop();
  });

  it('resumes from the cursor of any message with everything missed, once and in order', async () => {
    const first = await watch();
    await revokeOne();
    await within(patience, () => first.ends(REFRESH_FAMILY).length === 1);
    await first.stop();
    for (let time = 0; time < 3; time += 1) await revokeOne();
    on.authorize.endSession('missed');
    await on.directory.changeUser('bob', (user) => (user.status = Status.DISABLED));
    await on.directory.changeUser('bob', (user) => (user.status = Status.ACTIVE));
    const second = await watch({ cursor: first.cursor() });
    const counts = () => [REFRESH_FAMILY, SUBJECT, SESSION].map((kind) => second.ends(kind).length);
    await within(patience, () => counts().join() === '3,1,1');
    expect(second.ends(SESSION)).toMatchObject([{ sessionId: 'missed' }]);
    for (const { cursor } of second.messages) {
      const again = await watch({ cursor });
      const rest = second.messages.slice(second.messages.findIndex((one) => one.cursor === cursor) + 1);
      const names = (messages: WatchRevocationsResponse[]) =>
        messages
          .filter(({ kind }) => kind !== RevocationKind.UNSPECIFIED)
          .map(({ kind, familyId, sessionId, sub }) => `${kind} ${familyId} ${sessionId} ${sub}`)
          .toSorted();
      await within(patience, () => names(again.messages).length >= names(rest).length);
      await settled();
      expect(names(again.messages)).toEqual(names(rest));
      await again.stop();
    }
    await second.stop();
  });

  it('reports everything since a given time to a watcher without a cursor', async () => {
    await revokeOne();
    on.authorize.endSession('long-over');
    await on.directory.changeUser('bob', (user) => (user.status = Status.DISABLED));
    await on.directory.changeUser('bob', (user) => (user.status = Status.ACTIVE));
    const all = await watch({ since: BigInt(Math.floor(Date.now() / 1000) - 3600) });
    await within(patience, () => all.ends(REFRESH_FAMILY).length >= 1);
    await within(patience, () => all.ends(SESSION).some(({ sessionId }) => sessionId === 'long-over'));
    await within(patience, () => all.ends(SUBJECT).some(({ sub }) => sub === 'bob'));
    const none = await watch({ since: BigInt(Math.floor(Date.now() / 1000) + 60) });
    await settled();
    expect(none.messages.filter(({ kind }) => kind !== RevocationKind.UNSPECIFIED)).toEqual([]);
    await Promise.all([all.stop(), none.stop()]);
  });

  it('refuses a cursor that is too old and a malformed one', async () => {
    const watcher = await watch();
    await watcher.stop();
    await on.directory.changeUser('bob', (user) => (user.name = 'Robert'));
    on.directory.changes.forgotten = 1_000n;
    const forgotten = watch({ cursor: watcher.cursor() });
    await expect(forgotten).rejects.toMatchObject({ code: Code.OutOfRange });
    on.directory.changes.forgotten = 0n;
    const [, families, directory, sessions] = watcher.cursor().split('.');
    const ahead = watch({ cursor: `1.${Number(families) + 1000}.${directory}.${sessions}` });
    await expect(ahead).rejects.toMatchObject({ code: Code.OutOfRange });
    for (const cursor of ['x', '1.2.3', '2.1.1.1', `${watcher.cursor()} `, '1.-1.0.0']) {
      await expect(watch({ cursor })).rejects.toMatchObject({ code: Code.InvalidArgument });
    }
  });

  it('fails when a feed is interrupted, so that watchers know that they may miss revocations', async () => {
    on.directory.unavailable = true;
    await expect(watch()).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    on.directory.unavailable = false;
    const watcher = await watch();
    on.authorize.line.cut = true;
    const end = (async () => {
      for (;;) {
        on.clock.advance(1000);
        await new Promise((resolve) => setTimeout(resolve, 200));
        if (!on.authorize.line.cut) return;
      }
    })();
    expect(await watcher.ended).toMatchObject({ code: 'temporarily_unavailable' });
    on.authorize.line.cut = false;
    await end;
  });

  it('sends a message at least once a second when nothing ends', async () => {
    const watcher = await watch();
    await new Promise((resolve) => setTimeout(resolve, 1600));
    expect(watcher.messages.length).toBeGreaterThanOrEqual(3);
    expect(new Set(watcher.messages.map(({ cursor }) => cursor)).size).toBe(1);
    await watcher.stop();
  });
});

const nameOf = (kind: RevocationKind) =>
  Object.entries(RevocationKind).find(([, value]) => value === kind)?.[0] ?? '';

describe('the caller of a revocation watch', () => {
  const endOfEachKind = async () => {
    await revokeOne('web');
    await on.token.revoke(
      {
        token: (await on.signIn({ clientId: 'other', resource: '', scopes: ['openid', 'offline_access'] }))
          .refreshToken,
        caller,
      },
      call(),
    );
    on.authorize.endSession('of-acme');
    on.authorize.endSession('of-globex', 'eve', 'globex');
    await on.directory.changeTenant('globex', Status.DISABLED);
    await on.directory.changeTenant('globex', Status.ACTIVE);
  };
  const heard = async (principal: Principal) => {
    const watcher = await watch({}, principal);
    await endOfEachKind();
    await settled();
    await watcher.stop();
    return watcher.messages
      .filter(({ kind }) => kind !== RevocationKind.UNSPECIFIED)
      .map(
        ({ kind, tenantId, clientId, sessionId }) =>
          `${nameOf(kind)} ${tenantId} ${clientId}${kind === SESSION ? sessionId : ''}`,
      )
      .toSorted();
  };

  it('sees, as a client, its own families, those of its API resources, and its tenant', async () => {
    expect(await heard({ kind: 'client', id: 'orders-api' })).toEqual([
      'REFRESH_FAMILY acme web',
      'SESSION acme of-acme',
    ]);
    const ofOther = await heard({ kind: 'client', id: 'other' });
    expect(ofOther).toEqual(['REFRESH_FAMILY acme other', 'SESSION acme of-acme']);
  });

  it('sees, by its certificate, the configured tenants and audiences; without an entry nothing', async () => {
    expect(await heard({ kind: 'certificate', id: 'introspector.orders' })).toEqual([
      'REFRESH_FAMILY acme web',
      'SESSION acme of-acme',
    ]);
    expect(await heard({ kind: 'certificate', id: 'introspector.all' })).toHaveLength(5);
    expect(await heard({ kind: 'certificate', id: 'introspector.unknown' })).toEqual([]);
  });

  it('is disconnected once its client is disabled or its access token has expired', async () => {
    const expiresAt = Math.floor(on.clock.now() / 1000) + 60;
    const expiring = await watch({}, { kind: 'client', id: 'orders-api', expiresAt });
    const disabled = await watch({}, { kind: 'client', id: 'orders-api' });
    await on.directory.changeApplication('orders-api', (record) => (record.status = Status.DISABLED));
    expect(await disabled.ended).toMatchObject({ code: 'invalid_token' });
    await on.directory.changeApplication('orders-api', (record) => (record.status = Status.ACTIVE));
    on.clock.advance(61_000);
    expect(await expiring.ended).toMatchObject({ code: 'invalid_token' });
  });
});
