import { describe, expect, it } from 'vitest';
import { IntrospectionError } from './introspection-error.ts';
import { createGuard, type Requirement } from './guard.ts';
import { active, stub } from './testing/stub.ts';

const audience = 'https://orders.example';
const judge = (authorization: string | undefined, requirement: Partial<Requirement> = {}) =>
  createGuard(stub(), { audience, ...requirement })(authorization);
const challengeOf = async (...given: Parameters<typeof judge>) => {
  const verdict = await judge(...given);
  return verdict.ok ? 'passed' : [verdict.refusal.status, verdict.refusal.headers['www-authenticate']];
};

describe('the guard (RFC 6750)', () => {
  it('accepts an active access token with an allowed audience and every scope', async () => {
    expect(await judge('Bearer good')).toEqual({ ok: true, token: active });
    expect(await challengeOf('bearer   good ', { scopes: ['orders.read'] })).toBe('passed');
    expect(await challengeOf('Bearer good', { audience: ['https://x.example', audience] })).toBe('passed');
    expect(await challengeOf('Bearer several')).toBe('passed');
  });

  it.each([undefined, '', 'Basic YTpi', 'good', 'Bearer2 good'])(
    'answers a request without an access token (%j) with a challenge and no error code (section 3.1)',
    async (authorization) => {
      expect(await challengeOf(authorization)).toEqual([401, 'Bearer']);
      expect(await challengeOf(authorization, { realm: 'orders' })).toEqual([401, 'Bearer realm="orders"']);
    },
  );

  it.each(['Bearer', 'Bearer ', 'Bearer a b', 'Bearer a"b', 'Bearer é'])(
    'treats %j as a malformed request (section 3.1)',
    async (authorization) => {
      expect(await challengeOf(authorization)).toEqual([
        400,
        'Bearer error="invalid_request", error_description="The authorization header is malformed."',
      ]);
    },
  );

  it.each(['bad', 'refresh', 'foreign'])('refuses the token "%s" as invalid', async (token) => {
    expect(await challengeOf(`Bearer ${token}`, { realm: 'orders' })).toEqual([
      401,
      'Bearer realm="orders", error="invalid_token", error_description="The access token is not valid here."',
    ]);
  });

  it('names the required scopes (section 3.1)', async () => {
    expect(await challengeOf('Bearer good', { scopes: ['orders.read', 'orders.delete'] })).toEqual([
      403,
      'Bearer scope="orders.read orders.delete", error="insufficient_scope", error_description="The access token lacks a scope."',
    ]);
  });

  it('answers with 503 and no challenge if introspection is unavailable', async () => {
    const verdict = await judge('Bearer unavailable');
    expect(verdict).toMatchObject({
      ok: false,
      refusal: { status: 503, error: 'temporarily_unavailable', headers: { 'retry-after': '7' } },
    });
    expect(verdict.ok || verdict.refusal.cause).toBeInstanceOf(IntrospectionError);
    expect(verdict.ok || verdict.refusal.headers['www-authenticate']).toBeUndefined();
  });
});
