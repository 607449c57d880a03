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

describe('what it costs to look for deliveries while there are none', () => {
  it('is about one statement a second and no Redis command, and nothing without TESSERA_WEBHOOK_KEY', async () => {
    const key = new Secret('a-webhook-key-of-at-least-32-characters');
    const [telling, silent] = await Promise.all([
      createWorld({ config: { TESSERA_WEBHOOK_KEY: key } }),
      createWorld(),
    ]);
    for (const one of [telling, silent]) {
      one.redis.reset();
      one.database.reset();
    }
    await pause(3500);
    expect(telling.database.count).toBeGreaterThanOrEqual(2);
    expect(telling.database.count).toBeLessThanOrEqual(5);
    expect([telling.redis.count, silent.redis.count, silent.database.count]).toEqual([0, 0, 0]);
    await Promise.all([telling.service.close(), silent.service.close()]);
  });
});

describe('what a pending poll costs', () => {
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
