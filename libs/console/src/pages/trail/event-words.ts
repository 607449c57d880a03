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

/** What happened, in words. */
export function eventCell({ event }: Pick<AuditEvent, 'event'>): Cell {
  const sentence = events[event];
  return sentence === undefined ? { text: event } : { sentence };
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
