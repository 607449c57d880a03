import { Secret, systemRandom } from '@tessera/kit';
import { fakeClock } from '@tessera/test-kit';
import { expect, it } from 'vitest';
import { createSessions, type ConsoleSession, type StartedSignIn } from './console-sessions.ts';

const started = { tenantId: 'acme', state: 's', returnTo: '/' } as unknown as StartedSignIn;

function session(expiresAt: number): ConsoleSession {
  const accessToken = new Secret('a token');
  const person = { tenantId: 'acme', everyTenant: false, userId: 'usr_a', name: 'Ada' };
  return { ...person, sessionId: 'a-session', authTime: 1_000_000, accessToken, expiresAt };
}

it('keeps a session as long as its access token lasts, and whose it was for longer', () => {
  const clock = fakeClock(1_000_000);
  const sessions = createSessions(clock, systemRandom);
  const cookie = sessions.keep(session(clock.now() + 300_000));
  expect(sessions.live(cookie)?.name).toBe('Ada');
  clock.set(clock.now() + 300_000);
  expect([sessions.live(cookie), sessions.tenantOf(cookie)]).toEqual([undefined, 'acme']);
  sessions.end(cookie);
  expect(sessions.tenantOf(cookie)).toBeUndefined();
});

it('gives a started sign-in out once, within ten minutes, and to the browser that started it alone', () => {
  const clock = fakeClock(1_000_000);
  const sessions = createSessions(clock, systemRandom);
  const [one, late] = [sessions.start(started), sessions.start(started)];
  expect(sessions.take('tw_another')).toBeUndefined();
  expect([sessions.take(one), sessions.take(one)]).toEqual([started, undefined]);
  clock.set(clock.now() + 600_000);
  expect(sessions.take(late)).toBeUndefined();
});

it('keeps every session while anybody starts to sign in', () => {
  const sessions = createSessions(fakeClock(1_000_000), systemRandom);
  const cookie = sessions.keep(session(2_000_000));
  for (let n = 0; n < 20_001; n += 1) sessions.start(started);
  expect(sessions.live(cookie)).toBeDefined();
});
