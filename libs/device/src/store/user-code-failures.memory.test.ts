import { afterAll, beforeAll, expect, it } from 'vitest';
import { createWorld, codeOf, openDevice, person, startDevice } from '../testing/world.ts';
import type { World } from '../testing/world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.service.close());

/** Deletes what Redis knows of wrong guesses, as a restart without its data would. */
async function loseCounters(): Promise<void> {
  const lose = world.redis.script({
    name: 'test.lose',
    lua: `for _, key in ipairs(redis.call('KEYS', KEYS[1] .. '*')) do redis.call('DEL', key) end`,
  });
  await lose(['device:guesses:'], []);
}

it('grants no new guesses if Redis loses its counters (RFC 8628 §5.1, DEV-7)', async () => {
  const { userCode } = await startDevice(world);
  const who = person();
  for (let wrong = 0; wrong < 5; wrong += 1) {
    expect(await codeOf(openDevice(world, 'BBBB-BBBB', who))).toBe('not_found');
    await loseCounters();
  }
  const refused = openDevice(world, userCode, who);
  await expect(refused).rejects.toMatchObject({ code: 'rate_limited' });
  await expect(refused).rejects.toSatisfy(
    (error: { retryAfterSeconds?: number }) => (error.retryAfterSeconds ?? 0) > 800,
  );
  expect((await world.audited('device.user_code.throttled'))[0]).toMatchObject({ reason: 'session' });
  expect(await codeOf(openDevice(world, userCode, person())), 'another session is free').toBe('no error');
});

it('counts neither correct codes nor guesses that Redis already refused', async () => {
  const who = person();
  const beside = await createWorld({ beside: world });
  for (let wrong = 0; wrong < 5; wrong += 1) await codeOf(openDevice(beside, 'BBBB-BBBB', who));
  for (let more = 0; more < 6; more += 1) {
    expect(await codeOf(openDevice(world, 'BBBB-BBBB', who))).toBe('rate_limited');
  }
  await loseCounters();
  const { userCode } = await startDevice(world);
  for (let right = 0; right < 6; right += 1) {
    expect(await codeOf(openDevice(world, userCode, who))).toBe('no error');
  }
  await beside.service.close();
});
