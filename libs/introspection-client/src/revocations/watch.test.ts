import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RevocationKind } from '@tessera/proto-gen/token';
import { FakeServer, fakeToken, seconds, until } from '../testing/fake-server.ts';
import type { Introspector, Revocation } from '../introspector-types.ts';

let server: FakeServer;
beforeEach(async () => {
  server = await new FakeServer().start();
  server.tokens.set('good', fakeToken());
});
afterEach(() => server.close());

async function watching(options: Parameters<FakeServer['introspector']>[0] = {}) {
  const introspector = server.introspector(options);
  const heard: Revocation[] = [];
  introspector.onRevocation((revocation) => heard.push(revocation));
  await until(() => introspector.guarded);
  return { introspector, heard };
}

const askedFor = async (introspector: Introspector, token = 'good') => {
  const before = server.calls.length;
  const { active } = await introspector.introspect(token);
  return { active, asked: server.calls.length - before };
};
const family = { kind: RevocationKind.REFRESH_FAMILY, sub: 'ada', clientId: 'web', sessionId: 's1' };

describe('the watch', () => {
  it('reports revocations to listeners until they unsubscribe', async () => {
    const { introspector, heard } = await watching();
    const others: Revocation[] = [];
    const stop = introspector.onRevocation((revocation) => others.push(revocation));
    server.end(family);
    await until(() => heard.length === 1);
    expect(heard).toEqual([
      {
        kind: 'refresh_family',
        tenantId: 'acme',
        sub: 'ada',
        clientId: 'web',
        sessionId: 's1',
        familyId: '',
        jti: '',
        endedAt: heard[0]?.endedAt,
      },
    ]);
    stop();
    server.end(family);
    await until(() => heard.length === 2);
    expect(others).toHaveLength(1);
  });

  it.each([
    ['a family', family],
    ['a subject', { kind: RevocationKind.SUBJECT, sub: 'ada' }],
    ['an application', { kind: RevocationKind.APPLICATION, clientId: 'web' }],
    ['a tenant', { kind: RevocationKind.TENANT }],
  ])('introspects a cached token again after revocation of %s, and caches it again', async (_, end) => {
    const { introspector, heard } = await watching();
    expect(await askedFor(introspector)).toEqual({ active: true, asked: 1 });
    expect(await askedFor(introspector)).toEqual({ active: true, asked: 0 });
    server.end(end);
    await until(() => heard.length === 1);
    expect(await askedFor(introspector)).toEqual({ active: true, asked: 1 });
    expect(await askedFor(introspector)).toEqual({ active: true, asked: 0 });
  });

  it('does not affect tokens unrelated to the revocation', async () => {
    const { introspector, heard } = await watching();
    await introspector.introspect('good');
    const others = [
      { ...family, sub: 'bob' },
      { ...family, clientId: 'other' },
      { ...family, tenantId: 'globex' },
      { kind: RevocationKind.SUBJECT, sub: 'ada', tenantId: 'globex' },
      { kind: RevocationKind.SESSION, sub: 'ada' },
    ];
    for (const other of others) server.end(other);
    await until(() => heard.length === others.length);
    expect(await askedFor(introspector)).toEqual({ active: true, asked: 0 });
  });

  it('refuses tokens issued before the revocation if configured, and not those issued later', async () => {
    const { introspector, heard } = await watching({ watch: { onRevocation: 'refuse' } });
    server.tokens.set('later', fakeToken({ iat: BigInt(seconds() + 60) }));
    expect(await introspector.introspect('good')).toMatchObject({ active: true });
    server.end(family);
    await until(() => heard.length === 1);
    expect(await introspector.introspect('good')).toEqual({ active: false });
    expect(await introspector.introspect('good', { fresh: true })).toEqual({ active: false });
    expect(await introspector.introspect('later')).toMatchObject({ active: true });
  });

  it('applies the end of a session if configured', async () => {
    const { introspector, heard } = await watching({ watch: { onRevocation: 'refuse', kinds: ['session'] } });
    server.end(family);
    await until(() => heard.length === 1);
    expect(await introspector.introspect('good')).toMatchObject({ active: true });
    server.end({ kind: RevocationKind.SESSION, sub: 'ada', sessionId: 's1' });
    await until(() => heard.length === 2);
    expect(await introspector.introspect('good')).toEqual({ active: false });
  });

  it('starts one day back, so that a restart loses no revocation', async () => {
    server.end(family);
    const { introspector, heard } = await watching({ watch: { onRevocation: 'refuse' } });
    await until(() => heard.length === 1);
    expect(Number(server.watches[0]?.since)).toBeCloseTo(seconds() - 86_400, -2);
    expect(await introspector.introspect('good')).toEqual({ active: false });
  });

  it('continues if a listener throws, reports it, and notifies the other listeners', async () => {
    const troubles: unknown[] = [];
    const { introspector, heard } = await watching({
      metrics: { onListenerError: ({ error, revocation }) => troubles.push(error, revocation.sub) },
    });
    const received: string[] = [];
    introspector.onRevocation(({ sub }) => {
      received.push(sub);
      if (received.length === 1) throw new Error('a defect of the listener');
    });
    const others: string[] = [];
    introspector.onRevocation(({ sub }) => others.push(sub));
    for (const sub of ['ada', 'bob']) server.end({ kind: RevocationKind.SUBJECT, sub });
    await until(() => others.length === 2);
    expect({ received, others, all: heard.map(({ sub }) => sub) }).toEqual({
      received: ['ada', 'bob'],
      others: ['ada', 'bob'],
      all: ['ada', 'bob'],
    });
    expect(troubles).toEqual([new Error('a defect of the listener'), 'ada']);
    expect(server.watches).toHaveLength(1);
  });

  it('receives everything it missed after an interruption, once, and reports the gap', async () => {
    const states: boolean[] = [];
    const { introspector, heard } = await watching({
      metrics: { onWatch: ({ guarded }) => states.push(guarded) },
    });
    server.end(family);
    await until(() => heard.length === 1);
    server.cutWatches();
    await until(() => !introspector.guarded);
    for (const sub of ['bob', 'cleo', 'dora']) server.end({ kind: RevocationKind.SUBJECT, sub });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(heard).toHaveLength(1);
    server.deaf = false;
    await until(() => heard.length === 4);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(heard.map(({ sub }) => sub)).toEqual(['ada', 'bob', 'cleo', 'dora']);
    expect(server.watches.at(-1)?.cursor).toBe('1');
    expect(states).toEqual([true, false, true]);
  });

  it('clears the cache and restarts if its cursor is too old', async () => {
    const { introspector, heard } = await watching();
    await introspector.introspect('good');
    server.end(family);
    await until(() => heard.length === 1);
    await introspector.introspect('good');
    server.cutWatches();
    await until(() => !introspector.guarded);
    server.end(family);
    server.forgotten = 2;
    server.deaf = false;
    await until(() => introspector.guarded);
    expect(server.watches.at(-1)).toMatchObject({ cursor: '' });
    expect(await askedFor(introspector)).toEqual({ active: true, asked: 1 });
  });

  it('keeps refusing tokens revoked before its cursor became too old', async () => {
    const { introspector, heard } = await watching({ watch: { onRevocation: 'refuse' } });
    server.end(family);
    await until(() => heard.length === 1);
    server.cutWatches();
    await until(() => !introspector.guarded);
    server.end({ ...family, sub: 'bob' });
    server.forgotten = 2;
    server.deaf = false;
    await until(() => introspector.guarded);
    expect(server.watches.at(-1)).toMatchObject({ cursor: '' });
    expect(await introspector.introspect('good')).toEqual({ active: false });
  });

  it('survives an outage of the server', async () => {
    const { introspector, heard } = await watching();
    await server.stop();
    await until(() => !introspector.guarded);
    server.end(family);
    await server.start();
    await until(() => heard.length === 1 && introspector.guarded);
    expect(heard).toHaveLength(1);
  });
});
