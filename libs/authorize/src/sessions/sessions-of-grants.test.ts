import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rootCall } from '@tessera/rpc';
import { newPerson, redemption } from '../testing/visitor.ts';
import { createWorld, type World } from '../testing/world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld({ config: { TESSERA_SESSION_IDLE_TTL: 600 } });
});
afterAll(() => world.service.close());

async function signedIn() {
  const person = newPerson(world);
  const code = await person.signIn();
  const { session } = await world.gateway.getSession({ browser: person.context() });
  return { person, code, sessionId: session?.sessionId ?? '' };
}
const check = async (sessionId: string, tenantId = 'acme') =>
  (await world.token.checkSessions({ tenantId, sessionIds: [sessionId], uses: true })).sessions;
const end = async (sessionId: string, tenantId = 'acme') =>
  world.token.endSessionOfGrant(
    { tenantId, sessionId, clientId: 'acme-web', ipAddress: '192.0.2.7' },
    rootCall('a-request'),
  );

describe('the session of a refresh token', () => {
  it('lives as long as the installation says, in whole seconds', async () => {
    const { sessionId } = await signedIn();
    const [session] = await check(sessionId);
    expect(session).toMatchObject({ sessionId });
    expect(
      [session?.idleSeconds, session?.remainingSeconds].map((seconds) => Math.ceil(Number(seconds) / 60)),
    ).toEqual([10, 720]);
    expect(await check(sessionId, 'umbra')).toEqual([]);
  });

  it('goes on while the person signs in again, and ends when they sign out', async () => {
    const { person, sessionId } = await signedIn();
    await person.signIn({ prompt: 'login' });
    expect(await check(sessionId)).toMatchObject([{ sessionId }]);
    await world.gateway.endSession({ browser: person.context() });
    expect(await check(sessionId)).toEqual([]);
  });

  it('is ended by its application as by a sign-out, with its codes, once, whatever replaced it', async () => {
    const { person, sessionId } = await signedIn();
    const code = await person.signIn({ prompt: 'login' });
    const { session: last } = await world.gateway.getSession({ browser: person.context() });
    for (let time = 0; time < 2; time += 1) {
      const { session } = await end(sessionId);
      expect([session?.sessionId, ...(session?.earlierSessionIds ?? [])]).toContain(sessionId);
    }
    expect((await world.gateway.getSession({ browser: person.context() })).session).toBeUndefined();
    await expect(world.token.redeemCode(redemption(code))).rejects.toMatchObject({ code: 'invalid_grant' });
    const rows = (await world.audited('session.ended')).filter((row) => row['sessionId'] === last?.sessionId);
    expect(rows).toMatchObject([
      {
        reason: 'application',
        actor: { type: 'client', id: 'acme-web' },
        clientId: 'acme-web',
        ipAddress: '192.0.2.7',
        requestId: 'a-request',
        subject: 'acme-ada',
      },
    ]);
  });

  it('that is of another tenant or unknown is not ended', async () => {
    const { sessionId } = await signedIn();
    expect(await end(sessionId, 'umbra')).not.toHaveProperty('session');
    expect(await end('unknown')).not.toHaveProperty('session');
    expect(await check(sessionId)).toHaveLength(1);
  });
});
