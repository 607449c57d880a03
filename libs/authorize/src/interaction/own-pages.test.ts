import { afterAll, beforeAll, expect, it } from 'vitest';
import { newPerson, signInAtPage } from '../testing/visitor.ts';
import { createWorld, password } from '../testing/world.ts';
import type { World } from '../testing/world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.service.close());

it('records at most 200 rows of 3,000 sign-ins from one address, however many tenants it invents (DOS-8)', async () => {
  const browser = newPerson(world).context();
  for (let round = 0; round < 60; round += 1) {
    await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) =>
        signInAtPage(world, { browser, tenantId: `t${round}-${index}`, identifier: 'ada', password }),
      ),
    );
  }
  // An identifier has ten attempts in a tenant, and all invented tenants are one; a hundred refusals have rows of their
  // own.
  const failed = await world.audited('auth.login.failed', 10);
  const limited = await world.audited('ratelimit.exceeded', 100);
  expect(failed.length + limited.length).toBeLessThanOrEqual(200);
  for (const record of [...failed, ...limited]) expect(record).not.toHaveProperty('tenantId');
});

it('answers for a tenant that does not exist as for a wrong password', async () => {
  const person = newPerson(world);
  const attempt = { browser: person.context(), identifier: 'eve', password };
  for (const tenantId of ['', 'nobody', 'ACME', 'x'.repeat(5000)]) {
    const answer = await signInAtPage(world, { ...attempt, tenantId });
    expect(answer.session).toBeUndefined();
    expect(answer.tenantMismatch).toBe(false);
  }
  const wrong = await signInAtPage(world, { ...attempt, tenantId: 'acme', password: 'wrong' });
  expect(wrong).toEqual(await signInAtPage(world, { ...attempt, tenantId: 'nobody' }));
});

it('names the tenant of a failed sign-in if it exists', async () => {
  const { database } = world;
  const person = newPerson(world);
  const attempt = { browser: person.context(), identifier: 'bob', password: 'wrong' };
  await signInAtPage(world, { ...attempt, tenantId: 'umbra' });
  await expect
    .poll(async () => {
      const { rows } = await database.query<{ record: { ipAddress: string } }>({
        name: 'test.failed_sign_ins',
        text: "SELECT record FROM authorize.audit_event WHERE event = 'auth.login.failed' AND tenant_id = 'umbra'",
      });
      return rows.map(({ record }) => record.ipAddress);
    })
    .toContain(person.ipAddress);
});
