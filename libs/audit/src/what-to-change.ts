/**
 * What to change where something was refused for a reason: sentences of `libs/languages`, for those who administer. The
 * reasons are those of `docs/audit.md`.
 */
const changes = {
  wrong_credentials:
    'The name or the password was wrong, or the person is disabled or locked. Look at the person: a link for a new password, or an end of the lock, lets them in.',
  wrong_factor:
    'The password was right, the second step was not. If the device is lost, remove the second factors of the person.',
  role_missing:
    'The application is for people with one of its roles. Give the person such a role, or tell them that it is not for them.',
  login_required:
    'The application asked for an answer without a page, and nobody was signed in. Opening the application again helps.',
  provider_no_account:
    'Nobody here belongs to that account of the other organization. Invite the person, or let its people get accounts by themselves.',
  provider_not_recent:
    'The other organization did not ask the person to sign in again, as the application wants.',
  provider_unreachable: 'The other organization did not answer. Ask it, and try again later.',
  provider_denied: 'The other organization refused the sign-in. It knows why.',
  provider_invalid:
    'The answer of the other organization could not be used. Compare the settings on both sides.',
  too_few_factors: 'The sign-in was weaker than asked for. The person signs in again, with a second step.',
  user_inactive: 'The person is disabled, locked or gone. Look at the person.',
  ended_since: 'Everything issued before has ended since, as by a new password. The person signs in again.',
  expired: 'It came too late. Start again with a new request.',
  revoked: 'It was taken back. The audit trail says by whom.',
  reuse_detected: 'A refresh token was used twice, as if it had been stolen. The person signs in again.',
  wrong_verifier: 'What the application sent does not belong to its first request (code_verifier, RFC 7636).',
  wrong_redirect_uri: 'The application named another redirect URI than in its first request.',
  other_client: 'It belongs to another application.',
  other_issuer: 'The application used the issuer of another organization.',
  unknown_client: 'There is no application with this client ID. Compare it, and the issuer.',
  application_inactive: 'The application is disabled. Enable it if it may be used.',
  secret_mismatch: 'The secret of the application is wrong. Compare it, or make a new one.',
  no_secret: 'The application has to send its secret.',
  unexpected_secret: 'The application has no secret, and sent one.',
  /** Of a limit of sign-ins, by whose name the reason begins. */
  'sign-in.':
    'There were too many attempts. End the lock at the person if it was they who tried; attempts from one address have to wait.',
} as const;

/** A reason that `whatToChange` knows. */
export type KnownReason = keyof typeof changes;

export const knownReasons = Object.keys(changes) as readonly KnownReason[];

/** The entry of the table for the reason of a row; undefined for a reason that explains itself. */
export function knownReason(reason: string): KnownReason | undefined {
  return reason.startsWith('sign-in.') ? 'sign-in.' : knownReasons.find((known) => known === reason);
}

/** What to change, in words; undefined for a reason that explains itself. */
export function whatToChange(reason: string): string | undefined {
  const known = knownReason(reason);
  return known && changes[known];
}
