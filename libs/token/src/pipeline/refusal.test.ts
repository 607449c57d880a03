import { OAuthError } from '@tessera/oauth';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { call, caller, credentialsOf, world, type World } from '../testing/world.ts';

let on: World;
beforeAll(async () => {
  on = await world();
});
afterAll(() => on.close());

async function refusalOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    if (error instanceof OAuthError) return error.refusal;
    throw error;
  }
  return 'not refused';
}

const ask = (clientId: string, clientSecret: string) => {
  const credentials = credentialsOf(clientId, clientSecret);
  return on.token.exchange({ grantType: 'client_credentials', credentials, caller }, call());
};

const mismatch = {
  reason: 'secret_mismatch',
  hint: expect.stringContaining('none of the secrets') as string,
};
const unknown = {
  reason: 'unknown_client',
  hint: expect.stringContaining('No application has this client_id') as string,
};

it('tells a wrong, a missing, an unexpected secret and an unknown client apart in log and audit, not in the answer', async () => {
  const introspect = (clientId: string, clientSecret: string) =>
    on.introspection.introspect(
      { token: 'x', caller, credentials: credentialsOf(clientId, clientSecret) },
      call(),
    );
  const tries = [
    ['web', 'x'.repeat(43), 'secret_mismatch'],
    ['web', '', 'no_secret'],
    ['spa', 'x'.repeat(43), 'unexpected_secret'],
    ['never-seen', 'x'.repeat(43), 'unknown_client'],
  ] as const;
  const before = (await on.events()).length;
  for (const [clientId, clientSecret, reason] of tries)
    for (const work of [() => ask(clientId, clientSecret), () => introspect(clientId, clientSecret)]) {
      const refused: unknown = await work().catch((error: unknown) => error);
      expect(refused).toMatchObject({ message: 'Client authentication failed.', refusal: { reason } });
    }
  const rows = (await on.events()).slice(before);
  expect(rows.map(({ reason }) => reason)).toEqual(tries.flatMap(([, , reason]) => [reason, reason]));
  expect(rows.every(({ record }) => JSON.stringify(record['details']).includes('"hint":"'))).toBe(true);
  expect(JSON.stringify(rows)).not.toContain('x'.repeat(43));
});

it('names a known client, the phase and the reason of a refused token request for the log', async () => {
  expect(await refusalOf(ask('web', 'x'.repeat(43)))).toEqual({
    clientId: 'web',
    phase: 'client',
    ...mismatch,
  });
  expect(await refusalOf(on.exchange('spa', { grantType: 'client_credentials' }))).toEqual({
    clientId: 'spa',
    phase: 'grant_type',
    reason: 'public_client',
  });
  expect(
    await refusalOf(on.exchange('service', { grantType: 'client_credentials', scope: 'no.such' })),
  ).toEqual({
    clientId: 'service',
    phase: 'scope',
    reason: 'The scope no.such is not known or not granted to this application.',
    received: 'no.such',
  });
  expect(await refusalOf(on.exchange('web', { grantType: 'authorization_code' }))).toEqual({
    clientId: 'web',
    phase: 'parameters',
    reason: 'The parameter code is missing.',
  });
  const replayed = on.newCode();
  await on.redeem(replayed);
  expect(await refusalOf(on.redeem(replayed))).toEqual({
    clientId: 'web',
    phase: 'redemption',
    reason: 'replayed',
  });
});

it('names the client of a refused introspection or revocation too', async () => {
  const introspect = (clientId: string) =>
    on.introspection.introspect(
      { token: 'x', caller, credentials: credentialsOf(clientId, 'x'.repeat(43)) },
      call(),
    );
  const revoke = (clientId: string, ignoreUnknown: boolean) =>
    on.token.revoke(
      { token: 'x', caller, ignoreUnknown, credentials: credentialsOf(clientId, 'x'.repeat(43)) },
      call(),
    );
  for (const ask of [introspect, (id: string) => revoke(id, false), (id: string) => revoke(id, true)]) {
    expect(await refusalOf(ask('web'))).toEqual({ clientId: 'web', phase: 'client', ...mismatch });
    const sent = 'a-secret-in-the-wrong-field-0123456789';
    expect(await refusalOf(ask(sent))).toEqual({
      clientId: 'unknown_client',
      phase: 'client',
      ...unknown,
    });
  }
});

it('never repeats what was sent as client identifier, which may be a secret', async () => {
  for (const sent of ['a-secret-in-the-wrong-field-0123456789', 'x'.repeat(100_000), 'a\nb\u001b[31m'])
    expect(await refusalOf(ask(sent, 'y'.repeat(43)))).toEqual({
      clientId: 'unknown_client',
      phase: 'client',
      ...unknown,
    });
});

it('says nothing of a client that polls in its time, or of a failing store', async () => {
  const deviceCode = on.device.start('td_');
  expect(await refusalOf(on.exchange('web', { grantType: 'device_code', deviceCode }))).toBeUndefined();
});
