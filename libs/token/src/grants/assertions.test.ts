import { assertionTypes } from '@tessera/oauth';
import { Status } from '@tessera/proto-gen/directory';
import { ClientAuthenticationMethod } from '@tessera/proto-gen/token';
import { counting, testRedis } from '@tessera/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { orders } from '../testing/declared-records.ts';
import { call, caller, claimsOf, codeOf, credentialsOf, world, type World } from '../testing/world.ts';

let on: World;
beforeAll(async () => {
  const redis = counting(await testRedis());
  on = await world({ runtime: { redis } });
  const hour = BigInt(on.clock.now() + 3_600_000);
  on.directory.assertions.set('of the workload', { clientId: 'workload', reusableUntilMs: hour });
  on.directory.assertions.set('of another', { clientId: 'service', reusableUntilMs: hour });
  on.directory.assertions.set('public', { clientId: 'spa', reusableUntilMs: hour });
  on.directory.assertions.set('expired', { clientId: 'workload', refusal: 'assertion_expired' });
});
afterAll(() => on.close());

function sent(clientAssertion: string, clientId = '') {
  const method = ClientAuthenticationMethod.PRIVATE_KEY_JWT;
  return { method, clientId, clientAssertion, clientAssertionType: assertionTypes.private_key_jwt };
}
const authenticated = async (clientAssertion: string, clientId = '') =>
  on.token.exchange(
    { caller, credentials: sent(clientAssertion, clientId), grantType: 'client_credentials' },
    call(),
  );
const granted = async (assertion: string, more: object = {}) =>
  on.token.exchange({ caller, grantType: 'jwt_bearer', assertion, ...more }, call());

const isTheWorkload = { sub: 'workload', client_id: 'workload', aud: orders, tenant_id: 'acme', role: [] };

describe('an assertion in place of a secret (RFC 7521 §4.2)', () => {
  it('gets the tokens that the secret would, with or without client_id', async () => {
    for (const clientId of ['', 'workload']) {
      const { accessToken } = await authenticated('of the workload', clientId);
      expect(claimsOf(accessToken)).toMatchObject(isTheWorkload);
    }
  });

  it('costs no call and no statement while it is known, as a secret', async () => {
    await authenticated('of the workload');
    const reads = on.directory.reads;
    on.database.reset();
    await authenticated('of the workload');
    expect(on.directory.reads).toBe(reads);
    expect(on.database.names.filter((name) => !name.startsWith('token.revocation_'))).toEqual([]);
  });

  it('is answered alike whatever is wrong with it, and log and audit say what', async () => {
    const wrong = [
      ['expired', '', 'assertion_expired', 'workload'],
      ['unknown', '', 'assertion_trust', ''],
      ['of the workload', 'web', 'assertion_subject', 'workload'],
      ['public', '', 'unexpected_secret', 'spa'],
    ] as const;
    for (const [assertion, clientId, reason, named] of wrong) {
      const refused = { code: 'invalid_client', message: 'Client authentication failed.' };
      const refusal = { reason, phase: 'client', ...(named !== '' && { clientId: named }) };
      await expect(authenticated(assertion, clientId)).rejects.toMatchObject({ ...refused, refusal });
      const last = (await on.events()).findLast(({ event }) => event === 'client.auth_failed');
      expect(last).toMatchObject({ reason, record: { clientId: named } });
    }
  });

  it('has the audience that was sent in log and audit trail if that is what is wrong, and nothing else of it', async () => {
    const aud = ['https://someone@other.example/token?key=secret', 'b'];
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const assertion = `${part({ alg: 'ES256' })}.${part({ aud, sub: 'workload' })}.signature`;
    on.directory.assertions.set(assertion, { clientId: 'workload', refusal: 'assertion_audience' });
    const received = 'https://other.example/token?key=... b';
    for (const [asked, code] of [
      [authenticated(assertion), 'invalid_client'],
      [granted(assertion), 'invalid_grant'],
    ] as const) {
      const refusal = { reason: 'assertion_audience', received };
      await expect(asked).rejects.toMatchObject({ code, refusal });
    }
    const found = (await on.events()).filter(({ reason }) => reason === 'assertion_audience');
    expect(found.map(({ event }) => event).toSorted()).toEqual(['client.auth_failed', 'token.denied']);
    for (const { record } of found) {
      expect(record).toMatchObject({ details: { received } });
      expect(JSON.stringify(record)).not.toContain(assertion.split('.')[1]);
    }
    on.directory.assertions.set(assertion, { clientId: 'workload', refusal: 'assertion_expired' });
    await expect(authenticated(assertion)).rejects.toMatchObject({ refusal: { received: undefined } });
  });

  it('names the application in the audit trail that it proves to be, also if the request is refused later', async () => {
    const request = { caller, credentials: sent('of the workload'), grantType: 'client_credentials' };
    expect(await codeOf(on.token.exchange({ ...request, scope: 'no.such' }, call()))).toBe('invalid_scope');
    const denied = (await on.events()).findLast(({ event }) => event === 'token.scope_denied');
    expect(denied).toMatchObject({ record: { clientId: 'workload' } });
  });

  it.each(['application', 'tenant'] as const)('ends within a second with its %s', async (what) => {
    await authenticated('of the workload');
    const set = (status: Status) =>
      what === 'tenant'
        ? on.directory.changeTenant('acme', status)
        : on.directory.changeApplication('workload', { status });
    await set(Status.DISABLED);
    expect(await codeOf(authenticated('of the workload'))).toBe('invalid_client');
    expect(await codeOf(granted('of the workload'))).toBe('invalid_grant');
    await set(Status.ACTIVE);
    await authenticated('of the workload');
  });

  it('is asked for again after a change of its application', async () => {
    await authenticated('of the workload');
    on.directory.assertions.delete('of the workload');
    await authenticated('of the workload');
    await on.directory.changeApplication('workload', { name: 'Changed' });
    expect(await codeOf(authenticated('of the workload'))).toBe('invalid_client');
    on.directory.assertions.set('of the workload', {
      clientId: 'workload',
      reusableUntilMs: BigInt(on.clock.now() + 3_600_000),
    });
  });

  it('is unavailable, and not wrong, while the directory is', async () => {
    on.directory.unavailable = true;
    expect(await codeOf(authenticated('never seen'))).toBe('temporarily_unavailable');
    on.directory.unavailable = false;
  });
});

describe('an assertion as a grant (RFC 7523 §2.1)', () => {
  it('gets an access token without a client_id, and with the right one', async () => {
    const answer = await granted('of the workload', { scope: 'orders.read' });
    expect(answer).toMatchObject({ scope: 'orders.read', refreshToken: '', idToken: '' });
    expect(claimsOf(answer.accessToken)).toMatchObject({ ...isTheWorkload, scope: ['orders.read'] });
    await granted('of the workload', { credentials: credentialsOf('workload', '') });
  });

  it('is invalid_grant if it is wrong, of another application than that of client_id, or missing (RFC 7523 §3.1)', async () => {
    expect(await codeOf(granted('expired'))).toBe('invalid_grant');
    expect(await codeOf(granted('unknown'))).toBe('invalid_grant');
    expect(await codeOf(granted('of the workload', { credentials: credentialsOf('web', '') }))).toBe(
      'invalid_grant',
    );
    expect(await codeOf(granted(''))).toBe('invalid_request');
    const denied = (await on.events()).filter(({ event }) => event === 'token.denied');
    expect(denied.map(({ reason }) => reason)).toEqual(
      expect.arrayContaining(['assertion_expired', 'assertion_trust', 'assertion_subject']),
    );
  });

  it('is refused besides a secret or another assertion, and for applications without the grant', async () => {
    expect(await codeOf(granted('of the workload', { credentials: credentialsOf('workload') }))).toBe(
      'invalid_request',
    );
    const other = { credentials: sent('of the workload') };
    expect(await codeOf(granted('of the workload', other))).toBe('invalid_request');
    expect(await codeOf(granted('of another'))).toBe('unauthorized_client');
  });
});
