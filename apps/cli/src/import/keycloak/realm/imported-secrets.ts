import { longestSecret, mostDaysOfShortSecret, shortestSecret } from '@tessera/directory';
import { CommandError } from '../../../terminal.ts';
import type { Entry } from '../../files/imported.ts';
import type { Client } from './representation.ts';

interface Secrets {
  /** Undefined if the application needs one that it does not bring. */
  readonly declared: readonly Entry[] | undefined;
  /** Why it needs a new one. */
  readonly lacks: string | undefined;
  /** Until when its short one is valid. */
  readonly keptUntil: string | undefined;
}

/** Stands where a server is to put a value in, such as `${env.X}` and `$(env:X)`. */
export const placeholder = /\$[({]/;

/** The last second that a declared time can name: that of the year 9999, since the Unix epoch. */
const latest = 253_402_300_799;

/**
 * The secret of a client.
 * @param keptUntil the end of short ones, which are replaced without it; in ISO 8601
 */
export function secretsOf(
  { publicClient, secret, attributes, clientAuthenticatorType }: Client,
  keptUntil: string | undefined,
): Secrets {
  const none = { declared: undefined, keptUntil: undefined };
  const expires = Number(attributes['client.secret.expiration.time'] ?? 0);
  if (publicClient) return { ...none, lacks: undefined };
  const isTime = Number.isSafeInteger(expires) && expires <= latest;
  // The console exports asterisks.
  const isMissing = /^\**$/.test(secret) || placeholder.test(secret);
  if (!bySecret.has(clientAuthenticatorType))
    return { ...none, lacks: `it authenticated by ${clientAuthenticatorType}` };
  if (isMissing) return { ...none, lacks: 'its own is not in the file' };
  if (!isTime) return { ...none, lacks: 'the end of its own is no time' };
  if (secret.length > longestSecret || !/^[\x20-\x7e]*$/.test(secret))
    return { ...none, lacks: `its own is not printable ASCII of at most ${longestSecret} characters` };
  const ends = expires > 0 ? new Date(expires * 1000).toISOString() : undefined;
  if (secret.length >= shortestSecret)
    return { ...none, lacks: undefined, declared: [{ value: secret, ...(ends && { expiresAt: ends }) }] };
  if (keptUntil === undefined)
    return { ...none, lacks: `its own has fewer than ${shortestSecret} characters` };
  const expiresAt = ends !== undefined && Date.parse(ends) < Date.parse(keptUntil) ? ends : keptUntil;
  return { lacks: undefined, declared: [{ value: secret, expiresAt }], keptUntil: expiresAt };
}

/** How clients authenticate that have a secret. */
export const bySecret: ReadonlySet<string> = new Set(['client-secret']);

/** The end of short secrets in ISO 8601. Throws CommandError for one that is past, or too far away. */
export function endOfShortSecrets(end: Date, now: number): string {
  const days = (end.getTime() - now) / 86_400_000;
  if (days > 0 && days <= mostDaysOfShortSecret) return end.toISOString();
  throw new CommandError(
    `--keep-short-secrets must be a time within the next ${mostDaysOfShortSecret} days.`,
    2,
  );
}
