import type { AuditEvent } from '@tessera/proto-gen/admin-audit';
import { withParameters, type Cell } from '@tessera/pages';
import { pathOf } from '../../console-visit.ts';

/** What happened, as a sentence of the languages, by the names of `docs/audit.md`. Other events are shown by name. */
const events: Readonly<Record<string, string>> = {
  'auth.login.succeeded': 'Sign-in',
  'auth.login.failed': 'Failed sign-in',
  'session.created': 'Session begun',
  'session.ended': 'Session ended',
  'consent.granted': 'Application allowed',
  'consent.revoked': 'Consent withdrawn',
  'consent.denied': 'Application not allowed',
  'authorize.rejected': 'Request of an application refused',
  'ratelimit.exceeded': 'Too many attempts',
  'code.issued': 'Code issued',
  'code.redeemed': 'Code redeemed',
  'token.issued': 'Tokens issued',
  'token.denied': 'Tokens refused',
  'token.revoked': 'Access of an application ended',
  'refresh.rotated': 'Tokens refreshed',
  'refresh.reuse_detected': 'Refresh token used twice',
  'refresh.family_revoked': 'Access of an application ended',
  'client.auth_failed': 'Application not recognized',
  'device.approved': 'Request approved',
  'ciba.approved': 'Request approved',
  'device.denied': 'Request denied',
  'ciba.denied': 'Request denied',
  'user.created': 'Person added',
  'user.updated': 'Person changed',
  'user.disabled': 'Person disabled',
  'user.active': 'Person enabled',
  'user.locked': 'Person locked',
  'user.deleted': 'Person deleted',
  'user.restored': 'Person restored',
  'client.created': 'Application added',
  'client.updated': 'Application changed',
  'client.disabled': 'Application disabled',
  'client.deleted': 'Application deleted',
  'client.secret.rotation_started': 'Secret added',
  'client.secret.rotation_completed': 'Secret removed',
  'client.secret.revoked': 'Secret removed',
  'config.changed': 'API or role changed',
  'tenant.updated': 'Organization changed',
  'auth.credential.changed': 'Password changed',
  'auth.link.created': 'Link for a password made',
  'auth.link.used': 'Link for a password used',
  'auth.unlocked': 'Lock ended',
  'auth.locked_down': 'Account locked down',
  'auth.factor.added': 'Way to sign in added',
  'auth.factor.removed': 'Way to sign in removed',
  'auth.reset.requested': 'New password asked for',
  'mail.sent': 'Mail sent',
  'mail.failed': 'Mail not sent',
  'key.published': 'Signing key published',
  'key.activated': 'Signing key in use',
  'key.retired': 'Signing key retired',
  'key.deleted': 'Signing key withdrawn',
};

/** What to change where something was refused for this reason; undefined for a reason that explains itself. */
const changes: Readonly<Record<string, string>> = {
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
};
const afterTooMany =
  'There were too many attempts. End the lock at the person if it was they who tried; attempts from one address have to wait.';

/** What happened, in words. */
export function eventCell({ event }: Pick<AuditEvent, 'event'>): Cell {
  const sentence = events[event];
  return sentence === undefined ? { text: event } : { sentence };
}

/** What to change, in words; undefined where the trail has only the reason. */
export function changeFor({ reason }: Pick<AuditEvent, 'reason'>): string | undefined {
  return changes[reason] ?? (reason.startsWith('sign-in.') ? afterTooMany : undefined);
}

/** How it ended: for a refusal with its reason, and the way to the page that explains it. */
export function outcomeCell({ outcome, reason, requestId }: AuditEvent, tenantId: string): Cell {
  if (outcome === 'success') return { sentence: 'Done' };
  const href =
    requestId === '' ? undefined : withParameters(pathOf(tenantId, 'why'), { reference: requestId });
  return reason === ''
    ? { sentence: 'Refused', href }
    : { sentence: 'Refused: {reason}', values: { reason }, href };
}

/** Whom it concerns, by name. */
export function subjectCell({ subject, subjectName, clientId }: AuditEvent, tenantId: string): Cell {
  const isPerson = subjectName !== '' || (subject !== '' && subject !== clientId);
  return {
    text: subjectName || subject,
    href: isPerson && tenantId !== '' ? pathOf(tenantId, 'people', subject) : undefined,
  };
}

/** The application, which may be any text that was sent. */
export function clientCell({ clientId, event }: AuditEvent, tenantId: string): Cell {
  const isKnown = clientId !== '' && tenantId !== '' && event !== 'client.auth_failed';
  return { text: clientId, href: isKnown ? pathOf(tenantId, 'applications', clientId) : undefined };
}
