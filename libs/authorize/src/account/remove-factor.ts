import { setTimeout as pause } from 'node:timers/promises';
import type { DirectoryClient } from '@tessera/directory-client';
import { hasTwoFactors } from '@tessera/oauth';
import { AccountProblem } from '@tessera/proto-gen/account';
import type { PersonService } from '@tessera/proto-gen/person';
import type { Client } from '@tessera/rpc';
import type { BrowserCall } from '../browser-call.ts';
import { sessionOf } from '../messages.ts';
import type { PresentPerson } from '../interaction/present-person.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { askingBySession } from '../visits/asking-person.ts';

interface RemoveFactorDeps {
  readonly personService: Client<typeof PersonService>;
  readonly directory: Pick<DirectoryClient, 'user'>;
  readonly sessions: Pick<Sessions, 'open'>;
}

/**
 * Removes a passkey or, without an identifier, the app. Every session and refresh token of the person ends with it; the
 * browser gets a new session, with what else the person proved. Without anything else they sign in again.
 */
export async function removeFactor(
  { personService, directory, sessions }: RemoveFactorDeps,
  { session }: PresentPerson,
  from: BrowserCall,
  credentialId: string,
) {
  const { tenantId, userId, authentication } = session;
  const { refusal, signedInAtMs } = await personService.removeOwnFactor(
    { ...askingBySession(from, session), credentialId },
    from.call.onward(),
  );
  if (refusal !== '')
    return { problem: refusal === 'last' ? AccountProblem.LAST_WAY_IN : AccountProblem.UNKNOWN };
  const methods = methodsWithout(authentication.methods, credentialId === '' ? 'totp' : 'passkey');
  if (methods.length === 0) return {};
  if (credentialId === '') await untilForgotten(directory, from, session);
  const signIn = { tenantId, userId, signedInAt: Number(signedInAtMs), methods };
  return { session: sessionOf(await sessions.open(from, signIn, '', session)) };
}

const ofPasskeys: readonly string[] = ['hwk', 'swk', 'user'];

/**
 * The methods of a sign-in (RFC 8176 §2) that do not rely on a factor. It is unknown which passkey was used, so no
 * passkey counts.
 */
export function methodsWithout(methods: readonly string[], factor: 'totp' | 'passkey'): string[] {
  const gone = factor === 'totp' ? ['otp'] : ofPasskeys;
  const left = methods.filter((method) => !gone.includes(method) && method !== 'mfa');
  const isStillTwo = left.includes('otp') || left.includes('user');
  return hasTwoFactors(methods) && isStillTwo ? [...left, 'mfa'] : left;
}

/** A moment, until what is cached says that the app is gone: the new session would be asked for a code of it. */
async function untilForgotten(
  directory: Pick<DirectoryClient, 'user'>,
  { call }: BrowserCall,
  { tenantId, userId }: PresentPerson['session'],
): Promise<void> {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const user = await directory.user(tenantId, userId, call.onward());
    if (user?.secondFactors.includes('totp') !== true) return;
    await pause(50);
  }
}
