import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Secret } from '@tessera/kit';
import {
  codeOf,
  createWorld,
  newPerson,
  startBackchannel,
  startDevice,
  type World,
} from './testing/world.ts';

const requests = 1000;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.service.close());

describe('the cost of checking for deliveries while there are none', () => {
  it('is about one statement a second and no Redis command, and nothing without TESSERA_WEBHOOK_KEY', async () => {
    const key = new Secret('a-webhook-key-of-at-least-32-characters');
    const [delivering, idle] = await Promise.all([
      createWorld({ config: { TESSERA_WEBHOOK_KEY: key } }),
      createWorld(),
    ]);
    for (const one of [delivering, idle]) {
      one.redis.reset();
      one.database.reset();
    }
    await pause(3500);
    expect(delivering.database.count).toBeGreaterThanOrEqual(2);
    expect(delivering.database.count).toBeLessThanOrEqual(5);
    expect([delivering.redis.count, idle.redis.count, idle.database.count]).toEqual([0, 0, 0]);
    await Promise.all([delivering.service.close(), idle.service.close()]);
  });
});

describe('the cost of a pending poll', () => {
  it.each([
    ['the device flow', async () => (await startDevice(world)).poll],
    ['CIBA', async () => (await startBackchannel(world, newPerson(world).username)).poll],
  ])(`is one Redis command and no SQL, over ${requests} requests of %s`, async (_flow, start) => {
    const polls = await Promise.all(Array.from({ length: requests }, start));
    // What the starts have left for the audit trail is written within a second.
    await pause(1500);
    world.redis.reset();
    world.database.reset();
    const codes = await Promise.all(polls.map(async (poll) => codeOf(poll())));
    expect(new Set(codes)).toEqual(new Set(['authorization_pending']));
    expect([world.redis.count, world.database.count]).toEqual([requests, 0]);
  });
});
