import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database, RedisHandle } from '@tessera/stores';
import { temporarilyUnavailable } from '@tessera/oauth';
import { createWorld, password, request } from './testing/world.ts';
import type { World } from './testing/world.ts';
import { begin, codeOf, redemption, newPerson, signInAtPage } from './testing/visitor.ts';

/** Stores that can be made unavailable: they throw what the handles throw when a store is unreachable. */
const failing = { database: false, redis: false, replyOf: '' };

let healthy: World;
let world: World;
beforeAll(async () => {
  healthy = await createWorld();
  world = await createWorld({
    beside: healthy,
    runtime: { database: breakable(healthy.database), redis: breakableRedis(healthy.redis) },
  });
});
afterAll(async () => {
  await world.service.close();
  await healthy.service.close();
});

function breakable(database: Database): Database {
  const check = () => {
    if (failing.database) throw temporarilyUnavailable('the database is unavailable');
  };
  return {
    engine: database.engine,
    async query(statement) {
      check();
      return database.query(statement);
    },
    async transaction(work) {
      check();
      return database.transaction(work);
    },
    listen: (record, heard) => database.listen(record, heard),
    close: () => database.close(),
  };
}

function breakableRedis(redis: RedisHandle): RedisHandle {
  const check = () => {
    if (failing.redis) throw temporarilyUnavailable('Redis is unavailable');
  };
  return {
    script(source) {
      const run = redis.script(source);
      return async (keys, args) => {
        check();
        const reply = await run(keys, args);
        if (source.name === failing.replyOf) throw temporarilyUnavailable('the reply of Redis was lost');
        return reply;
      };
    },
    async call(command, ...args) {
      check();
      return redis.call(command, ...args);
    },
    spansSlots: redis.spansSlots,
    close: () => redis.close(),
  };
}

async function without<T>(store: 'database' | 'redis', work: () => Promise<T>): Promise<T> {
  failing[store] = true;
  try {
    return await work();
  } finally {
    failing[store] = false;
  }
}

const unavailable = { code: 'temporarily_unavailable', retryAfterSeconds: expect.any(Number) as number };

describe('without Redis', () => {
  it('every step that needs it reports it unavailable, nothing reads as invalid, and all works again once it is back', async () => {
    const person = newPerson(world);
    const code = await person.signIn();
    const interactionId = await person.interaction({ prompt: 'login' });
    await without('redis', async () => {
      await expect(person.start()).rejects.toMatchObject(unavailable);
      await expect(newPerson(world).start()).rejects.toMatchObject(unavailable);
      await expect(person.submit(interactionId)).rejects.toMatchObject(unavailable);
      await expect(world.token.redeemCode(redemption(code))).rejects.toMatchObject(unavailable);
      const { session } = await world.gateway.getSession({ browser: person.context() });
      expect(session?.userId).toBe('acme-ada');
    });
    await expect(world.token.redeemCode(redemption(code))).resolves.toBeDefined();
    expect((await person.submit(interactionId)).outcome.case).toBe('signedIn');
  });

  it('a sign-in whose code could not be stored can be repeated with the same form', async () => {
    const person = newPerson(world);
    const interactionId = await person.interaction();
    failing.replyOf = 'authorize.save_code';
    try {
      await expect(person.submit(interactionId)).rejects.toMatchObject(unavailable);
    } finally {
      failing.replyOf = '';
    }
    expect((await person.submit(interactionId)).outcome.case).toBe('signedIn');
    await expect(newPerson(world).submit(interactionId)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('a sign-in whose answer was lost can be repeated with the same form: only the last code is valid, once', async () => {
    const person = newPerson(world);
    const interactionId = await person.interaction();
    const submit = async () => {
      const { outcome } = await person.submit(interactionId);
      if (outcome.case !== 'signedIn') throw new Error(`not signed in but ${outcome.case}`);
      const { session, redirect } = outcome.value;
      return { token: session?.sessionToken ?? '', code: codeOf(redirect?.location) };
    };
    const lost = await submit();
    const kept = await submit();
    await expect(world.token.redeemCode(redemption(lost.code))).rejects.toMatchObject({
      code: 'invalid_grant',
    });
    const sessionOf = async (sessionToken: string) =>
      (await world.gateway.getSession({ browser: { ...person.context(), sessionToken } })).session?.userId;
    expect(await sessionOf(lost.token)).toBeUndefined();
    expect(await sessionOf(kept.token)).toBe('acme-ada');
    await expect(newPerson(world).submit(interactionId)).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(world.token.redeemCode(redemption(kept.code))).resolves.toBeDefined();
    await expect(submit()).rejects.toMatchObject({ code: 'invalid_request' });
    expect(await sessionOf(kept.token)).toBe('acme-ada');
  });

  it('of a form that many repeat at once after a lost answer, one gets a code', async () => {
    const person = newPerson(world);
    const interactionId = await person.interaction();
    await person.submit(interactionId);
    const repeated = await Promise.allSettled(Array.from({ length: 8 }, () => person.submit(interactionId)));
    expect(repeated.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('a sign-in is complete once its code is stored, even if Redis goes while the visit is removed', async () => {
    const person = newPerson(world);
    const interactionId = await person.interaction();
    failing.replyOf = 'authorize.answer_visit';
    try {
      expect((await person.submit(interactionId)).outcome.case).toBe('signedIn');
    } finally {
      failing.replyOf = '';
    }
  });

  it('a logout fails, and its repetition drops the codes', async () => {
    const person = newPerson(world);
    const code = await person.signIn();
    const browser = person.context();
    await without('redis', async () => {
      await expect(world.gateway.endSession({ browser })).rejects.toMatchObject(unavailable);
    });
    await world.gateway.endSession({ browser });
    await expect(world.token.redeemCode(redemption(code))).rejects.toMatchObject({ code: 'invalid_grant' });
  });

  it('guessing is still limited, at half the rate', async () => {
    const outcomes = await without('redis', async () => {
      const results: unknown[] = [];
      for (let i = 0; i < 8; i += 1) results.push(await guess());
      return results;
    });
    expect(outcomes).toEqual([...Array<string>(5).fill('tried'), ...Array<string>(3).fill('rate_limited')]);
  });

  async function guess(): Promise<string | undefined> {
    const wrong = { tenantId: 'acme', identifier: 'guessed', password: 'wrong' };
    try {
      await signInAtPage(world, { browser: newPerson(world).context(), ...wrong });
      return 'tried';
    } catch (error) {
      return (error as { code?: string }).code;
    }
  }
});

describe('without Postgres', () => {
  it('no code, session or logout succeeds, and the visit stays for the next attempt', async () => {
    const person = newPerson(world);
    await person.signIn();
    const interactionId = await person.interaction({ prompt: 'login' });
    await without('database', async () => {
      await expect(person.start()).rejects.toMatchObject(unavailable);
      await expect(person.submit(interactionId)).rejects.toMatchObject(unavailable);
      await expect(world.gateway.getSession({ browser: person.context() })).rejects.toMatchObject(
        unavailable,
      );
      await expect(world.gateway.endSession({ browser: person.context() })).rejects.toMatchObject(
        unavailable,
      );
    });
    expect((await person.redirect()).has('code')).toBe(true);
    expect((await person.submit(interactionId)).outcome.case).toBe('signedIn');
  });
});

describe('restart and loss', () => {
  it('another process and a restarted one serve the same session and the same code', async () => {
    const person = newPerson(healthy);
    const code = await person.signIn();
    const restarted = await createWorld({ beside: healthy });
    await expect(restarted.token.redeemCode(redemption(code))).resolves.toBeDefined();
    const parameters = request();
    const { next } = await begin(restarted, person.context(), { parameters });
    expect(next.case).toBe('redirect');
    const { session } = await restarted.gateway.getSession({ browser: person.context() });
    expect(session?.userId).toBe('acme-ada');
    await restarted.service.close();
  });

  it('a lost Redis neither ends nor revives a session; pending codes and visits are lost', async () => {
    const [person, gone] = [newPerson(world), newPerson(world)];
    const code = await person.signIn();
    const interactionId = await person.interaction({ prompt: 'login' });
    await gone.signIn();
    await world.gateway.endSession({ browser: gone.context() });
    await flush();
    await expect(world.token.redeemCode(redemption(code))).rejects.toMatchObject({ code: 'invalid_grant' });
    await expect(person.submit(interactionId)).rejects.toMatchObject({ code: 'invalid_request' });
    expect((await person.redirect()).has('code')).toBe(true);
    expect((await gone.start()).next.case).toBe('interaction');
  });

  async function flush(): Promise<void> {
    const script = healthy.redis.script({
      name: 'test.flush',
      lua: `for _, key in ipairs(redis.call('KEYS', string.sub(KEYS[1], 1, -2) .. '*')) do redis.call('DEL', key) end`,
    });
    await script(['x'], []);
  }
});

describe('in one process without Redis', () => {
  it('the whole flow works in the memory of the process', async () => {
    const compact = await createWorld({ beside: healthy, runtime: { redis: undefined } });
    const person = newPerson(compact);
    const code = await person.signIn({}, { identifier: 'bob', password });
    const { userGrant: grant } = await compact.token.redeemCode(redemption(code));
    expect(grant?.userId).toBe('acme-bob');
    expect((await person.redirect()).has('code')).toBe(true);
    await compact.gateway.endSession({ browser: person.context() });
    expect((await person.start()).next.case).toBe('interaction');
    await compact.service.close();
  });
});
