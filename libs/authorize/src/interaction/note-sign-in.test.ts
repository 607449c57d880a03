import { eventually, fakeClock, silentLog } from '@tessera/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newPerson } from '../testing/visitor.ts';
import { createWorld, password, type World } from '../testing/world.ts';
import { createSignInNotes } from './note-sign-in.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.service.close());

const add = (username: string): string => {
  const userId = `acme-${username}`;
  world.directory.addUser(userId, { tenantId: 'acme', username, password });
  return userId;
};

const noted = (userId: string) => world.directory.notedSignIns.filter((each) => each === userId).length;

describe('a sign-in that is noted', () => {
  it('is one that opened a session, not one that failed or found a session', async () => {
    const [eve, bea] = [add('eve'), add('bea')];
    const [signed, failed] = [newPerson(world), newPerson(world)];
    await failed.submit(await failed.interaction(), { identifier: 'bea', password: 'wrong' });
    await signed.signIn({}, { identifier: 'eve' });
    await eventually('eve is noted', async () => noted(eve) === 1);
    await signed.redirect({});
    const last = add('last');
    await newPerson(world).signIn({}, { identifier: 'last' });
    await eventually('the last one is noted', async () => noted(last) === 1);
    expect([noted(eve), noted(bea)]).toEqual([1, 0]);
  });

  it('is written with its time when the process ends, once for a person', async () => {
    const written: unknown[] = [];
    const clock = fakeClock(1_700_000_000_000);
    const notes = createSignInNotes({
      personService: { noteSignIns: async (request) => (written.push(request.signIns), {}) as never },
      clock,
      log: silentLog(),
    });
    const person = { tenantId: 'acme', userId: 'usr_eve' };
    notes.note(person);
    clock.advance(5);
    notes.note(person);
    await notes.close();
    expect(written).toEqual([
      [{ ...person, signInTime: expect.objectContaining({ seconds: 1_700_000_000n, nanos: 5_000_000 }) }],
    ]);
  });
});
