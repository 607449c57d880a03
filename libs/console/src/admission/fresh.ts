import type { Clock } from '@tessera/kit';
import type { ConsoleSession } from '../console-sessions.ts';

/** How long ago somebody may have proved who they are who gives rights or destroys. */
export const freshSeconds = 15 * 60;

/** A form that was opened in time may be filled in for as long again. */
export function isFresh({ authTime }: ConsoleSession, method: string, clock: Pick<Clock, 'now'>): boolean {
  const age = clock.now() - authTime;
  return age <= freshSeconds * 1000 * (method === 'GET' ? 1 : 2);
}
