import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
