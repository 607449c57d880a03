import { passkeyAnswer } from '@tessera/directory-client/testing';
import type { Step } from '@tessera/proto-gen/authorize';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newPerson, type Person } from '../../testing/visitor.ts';
import { createWorld, password, request, type World } from '../../testing/world.ts';

const perAccount = 4;
const perAddress = 8;
let world: World;
let count = 0;
beforeAll(async () => {
  const config = {
    TESSERA_ISSUER: 'https://id.example',
    TESSERA_LOGIN_FAILURES_PER_ACCOUNT: perAccount,
    TESSERA_LOGIN_FAILURES_PER_ADDRESS: perAddress,
  };
  world = await createWorld({ config });
});
afterAll(() => world.service.close());

const limited = { code: 'rate_limited' };

/** Somebody new with a passkey, whose identifier is that of the person. */
function account() {
  const username = `pia${(count += 1)}`;
  const userId = `acme-${username}`;
  world.directory.addUser(userId, { tenantId: 'acme', username, password, hasPasskey: true });
  return { username, userId };
}

/** A browser at the address of another one. */
const beside = ({ ipAddress }: Person): Person => Object.assign(newPerson(world), { ipAddress });

async function start(person: Person): Promise<Step> {
  const visit = { case: 'request', value: { parameters: request() } } as const;
  const { next } = await world.gateway.begin({ browser: person.context(), visit });
  if (next?.next.case !== 'step') throw new Error(`no step but ${next?.next.case}`);
  return next.next.value;
}

/** What became of a new sign-in: `redirect` if it is done. */
async function signIn(person: Person, step: string, fieldsOf: (page: Step) => Record<string, string>) {
  const page = await start(person);
  const visit = { case: 'interactionId', value: page.interaction?.interactionId ?? '' } as const;
  const browser = person.context();
  const { next } = await world.gateway.continue({ browser, visit, step, fields: fieldsOf(page) });
  return next?.next.case === 'step' ? next.next.value.problem : next?.next.case;
}

const usePasskey = async (person: Person, textOf: (challenge: string) => string) =>
  signIn(person, 'passkey', ({ shown }) => {
    const { challenge } = JSON.parse(shown['passkey_options'] ?? '{}') as { challenge: string };
    return { passkey: textOf(challenge), passkey_nonce: shown['passkey_nonce'] ?? '' };
  });

const usePassword = async (person: Person, identifier: string, secret = password) =>
  signIn(person, 'password', () => ({ identifier, password: secret }));

const own = (userId: string) => (challenge: string) => passkeyAnswer(userId, challenge);

describe('failed sign-ins with a passkey', () => {
  it.each([
    ['names another one first', (mine: string, other: string) => `{"x":{"id":"${other}"},"id":"${mine}"}`],
    ['has two', (mine: string, other: string) => `{"id":"${other}","id":"${mine}"}`],
    ['escapes its own', (mine: string, other: string) => `{"\\u0069d":"${mine}","x":{"id":"${other}"}}`],
  ])('count for the passkey whose answer it is, if its text %s', async (_what, text) => {
    const { userId: other } = account();
    const { userId: mine } = account();
    const person = newPerson(world);
    for (let i = 0; i < perAccount; i += 1)
      expect(await usePasskey(beside(person), () => text(mine, other))).toBe('wrong_passkey');
    await expect(usePasskey(beside(person), own(mine))).rejects.toMatchObject(limited);
    expect(await usePasskey(beside(person), own(other))).toBe('redirect');
  });

  it('count at their address alone: who knows the identifier of a passkey locks out nobody elsewhere', async () => {
    const { userId } = account();
    const attackers = [newPerson(world), newPerson(world)];
    const forged = () => `{"id":"${userId}"}`;
    for (const attacker of attackers) {
      for (let i = 0; i < perAccount; i += 1)
        expect(await usePasskey(beside(attacker), forged)).toBe('wrong_passkey');
      await expect(usePasskey(beside(attacker), forged)).rejects.toMatchObject(limited);
    }
    expect(await usePasskey(newPerson(world), own(userId))).toBe('redirect');
  });

  it('count for no passkey with a like identifier, nor at all without one (WebAuthn L3 §5.1)', async () => {
    const { userId } = account();
    for (const like of [userId.toUpperCase(), userId.replace('-', ''), `${userId}-`])
      for (let i = 0; i < perAccount; i += 1)
        expect(await usePasskey(newPerson(world), own(like))).toBe('wrong_passkey');
    const person = newPerson(world);
    for (const text of ['no JSON', 'null', '7', '{}', '{"id":7}', `{"id":"${userId} "}`, '{"id":""}'])
      for (let i = 0; i < perAddress; i += 1)
        expect(await usePasskey(beside(person), () => text)).toBe('wrong_passkey');
    expect(await usePasskey(beside(person), own(userId))).toBe('redirect');
  });

  it('lock no password, neither of the account they name nor of their address', async () => {
    const { username } = account();
    const person = newPerson(world);
    for (let i = 0; i < perAddress; i += 1)
      await usePasskey(beside(person), own(i < perAddress / 2 ? username : `other${i}`)).catch(() => {});
    await expect(usePasskey(beside(person), own('another'))).rejects.toMatchObject(limited);
    expect(await usePassword(beside(person), username)).toBe('redirect');
  });

  it('are not made by wrong passwords, for the account or its address', async () => {
    const { username, userId } = account();
    const person = newPerson(world);
    for (let i = 0; i < perAccount; i += 1) await usePassword(beside(person), username, 'wrong');
    for (let i = 0; i < perAccount; i += 1) await usePassword(beside(person), userId, 'wrong');
    await expect(usePassword(beside(person), username)).rejects.toMatchObject(limited);
    expect(await usePasskey(beside(person), own(userId))).toBe('redirect');
  });
});
