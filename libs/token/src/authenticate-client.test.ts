import { describe, expect, it } from 'vitest';
import { call, caller, codeOf, credentialsOf, world } from './testing/world.ts';

describe('client authentication with too many attempts', () => {
  it('is rate limited at every endpoint, with an audit row', async () => {
    const limited = await world();
    const attempts: ((credentials: ReturnType<typeof credentialsOf>) => Promise<unknown>)[] = [
      (credentials) =>
        limited.token.exchange({ grantType: 'client_credentials', credentials, caller }, call()),
      (credentials) => limited.introspection.introspect({ token: 'x', credentials, caller }, call()),
      (credentials) => limited.token.revoke({ token: 'x', credentials, caller }, call()),
    ];
    for (let guess = 0; guess < 30; guess += 1) {
      await codeOf(limited.token.exchange(guessed(guess), call()));
    }
    for (const attempt of attempts) {
      expect(await codeOf(attempt(credentialsOf('web', 'y'.repeat(43))))).toBe('rate_limited');
    }
    const rows = (await limited.events()).filter(({ event }) => event === 'ratelimit.exceeded');
    expect(rows.slice(-3)).toMatchObject(
      attempts.map(() => ({
        reason: 'rate_limited',
        record: { clientId: 'web', ipAddress: '192.0.2.7', requestId: 'a-request' },
      })),
    );
    await limited.close();
  });
});

function guessed(guess: number) {
  const credentials = credentialsOf('web', `${guess}`.padStart(43, 'x'));
  return { grantType: 'client_credentials', credentials, caller };
}
