import { readFileSync } from 'node:fs';
import { longestPassword } from '../hashing/phc.ts';

/** Lower-case, one a line (docs/adr/0039-common-passwords.md). */
const file = new URL('./common-passwords.txt', import.meta.url);
let common: ReadonlySet<string> | undefined;

/**
 * Why a person may not have this password, as the end of a sentence; undefined if they may (NIST SP 800-63B §5.1.1.2: a
 * minimum length, and a list of common values). Hashes that are imported cannot be checked.
 * @param minimumLength in characters
 */
export function passwordProblem(password: string, minimumLength: number): string | undefined {
  if (Array.from(password).length < minimumLength) return `must have at least ${minimumLength} characters`;
  common ??= new Set(readFileSync(file, 'utf8').split('\n'));
  return common.has(password.toLowerCase())
    ? 'is one of the most common passwords; choose another one'
    : undefined;
}

/** As `passwordProblem`, for a password of any length, as a person sends it. */
export function newPasswordProblem(password: string, minimumLength: number): string | undefined {
  if (password.length > longestPassword) return `must have at most ${longestPassword} characters`;
  return passwordProblem(password, minimumLength);
}
