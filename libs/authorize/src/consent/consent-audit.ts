import { auditRow } from '@tessera/audit';
import type { AuditBatch, AuditRow, EventBase } from '@tessera/audit';
import type { Clock, Random } from '@tessera/kit';
import { originOf } from '../audit.ts';
import type { BrowserCall } from '../browser-call.ts';
import type { ConsentKey } from './consents.postgres.ts';

/** The audit events of consents. */
export interface ConsentAudit {
  /** For the commit of the consent. */
  granted(from: BrowserCall, consent: ConsentKey, scopes: readonly string[]): AuditRow;
  denied(from: BrowserCall, consent: ConsentKey, scopes: readonly string[]): void;
  /** For the commit that forgets the consent. */
  revoked(from: BrowserCall, consent: ConsentKey): AuditRow;
  /** The same, by an administrator. */
  revokedBy(by: EventBase, consent: ConsentKey): AuditRow;
}

export function createConsentAudit(
  batch: AuditBatch,
  runtime: { readonly clock: Clock; readonly random: Random },
): ConsentAudit {
  const whose = (from: BrowserCall, { tenantId, userId, clientId }: ConsentKey) => {
    const actor = { type: 'user', id: userId } as const;
    return { ...originOf(from), tenantId, clientId, actor, subject: userId };
  };
  const what = (from: BrowserCall, consent: ConsentKey, scopes: readonly string[]) => ({
    ...whose(from, consent),
    details: { scopes: scopes.join(' ') },
  });
  return {
    granted: (...consent) =>
      auditRow({ event: 'consent.granted', outcome: 'success', ...what(...consent) }, runtime),
    revoked: (...consent) =>
      auditRow({ event: 'consent.revoked', outcome: 'success', ...whose(...consent) }, runtime),
    revokedBy(by, { tenantId, userId, clientId }) {
      const what = { event: 'consent.revoked', outcome: 'success', reason: 'administrator' } as const;
      return auditRow({ ...by, ...what, tenantId, clientId, subject: userId }, runtime);
    },
    denied: (...consent) =>
      batch.add({ event: 'consent.denied', outcome: 'failure', reason: 'denied', ...what(...consent) }),
  };
}
