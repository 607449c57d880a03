import { builtInPrefix } from '@tessera/oauth';
import type { AuditEvent } from '@tessera/proto-gen/admin-audit';
import { withParameters, type Cell } from '@tessera/pages';
import { pathOf } from '../../console-visit.ts';

/** What happened, as a sentence of the languages, by the names of `docs/audit.md`. */
export const eventWords: Readonly<Record<string, string>> = {
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
  'auth.credential.rehashed': 'Password hash upgraded',
  'auth.factor.refused': 'Passkey refused',
  'auth.factor.renamed': 'Way to sign in renamed',
  'auth.mail_code.requested': 'Email code requested',
  'auth.mail_code.refused': 'Email code not sent',
  'auth.mail_code.sent': 'Email code sent',
  'auth.mail_code.used': 'Email code used',
  'auth.provider.incomplete': 'Provider left claims out',
  'auth.provider.link_refused': 'Provider not linked',
  'auth.provider.linked': 'Provider linked',
  'auth.provider.logout_refused': 'Sign-out by a provider refused',
  'auth.provider.unlinked': 'Provider unlinked',
  'auth.recovery_code.used': 'Recovery code used',
  'auth.recovery_codes.replaced': 'Recovery codes replaced',
  'auth.reset.refused': 'Link for a new password not sent',
  'authorize.tenant_mismatch': 'Signed in to another organization',
  'ciba.decision_refused': 'Decision refused',
  'device.decision_refused': 'Decision refused',
  'ciba.notified': 'Application told of a decision',
  'ciba.redeemed': 'Approval redeemed',
  'device.redeemed': 'Approval redeemed',
  'ciba.rejected': 'Request for approval refused',
  'device.rejected': 'Request for approval refused',
  'ciba.replayed': 'Approval used twice',
  'device.replayed': 'Approval used twice',
  'ciba.started': 'Approval asked for',
  'device.started': 'Approval asked for',
  'client.redirect_uris.changed': 'Redirect URIs changed',
  'client.restored': 'Application restored',
  'client.secret.expiry_changed': 'Expiry of a secret changed',
  'code.client_mismatch': 'Code refused',
  'code.pkce_failed': 'Code refused',
  'code.redirect_uri_failed': 'Code refused',
  'code.replayed': 'Code used twice',
  'device.user_code.failed': 'Wrong device code',
  'device.user_code.throttled': 'Too many wrong device codes',
  'epoch.bumped': 'Everything issued earlier was ended',
  'introspect.denied': 'Check of a token refused',
  'key.generated': 'Signing key made',
  'logout.notified': 'Application told of a sign-out',
  'logout.redirect.rejected': 'Address after a sign-out refused',
  'mail.deleted': 'Mail deleted',
  'provider.created': 'Provider added',
  'provider.updated': 'Provider changed',
  'provider.deleted': 'Provider removed',
  'refresh.client_mismatch': 'Refresh token of another application',
  'refresh.retried': 'Tokens refreshed again',
  'refresh.undelivered': 'Tokens not delivered',
  'tenant.created': 'Organization added',
  'tenant.deleted': 'Organization deleted',
  'tenant.suspended': 'Organization disabled',
  'tenant.cross_access_denied': 'Request of another organization',
  'token.scope_denied': 'Scope refused',
  'user.email.proposed': 'New email address entered',
  'user.registration.requested': 'Account asked for',
  'user.registration.refused': 'Registration refused',
  'user.registration.linked': 'Link for a registration sent',
};

/** What happened, in words. */
export function eventCell({ event }: Pick<AuditEvent, 'event'>): Cell {
  const sentence = eventWords[event];
  // A newer process may write what this one does not know.
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
  // Those that are built in have no record.
  const isRecord = clientId !== '' && !clientId.startsWith(builtInPrefix);
  const isKnown = isRecord && tenantId !== '' && event !== 'client.auth_failed';
  return { text: clientId, href: isKnown ? pathOf(tenantId, 'applications', clientId) : undefined };
}
