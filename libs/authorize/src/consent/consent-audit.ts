import { auditRow } from '@tessera/audit';
import type { AuditBatch, AuditRow } from '@tessera/audit';
import type { Clock, Random } from '@tessera/kit';
import { originOf } from '../audit.ts';
import type { BrowserCall } from '../browser-call.ts';
import type { ConsentKey } from './consents.postgres.ts';

/** The audit events of consents. */
export interface ConsentAudit {
  /** For the commit of the consent. */
  granted(from: BrowserCall, consent: ConsentKey, scopes: readonly string[]): AuditRow;
  denied(from: BrowserCall, consent: ConsentKey, scopes: readonly string[]): void;
}

export function createConsentAudit(
  batch: AuditBatch,
  runtime: { readonly clock: Clock; readonly random: Random },
): ConsentAudit {
  const what = (from: BrowserCall, { tenantId, userId, clientId }: ConsentKey, scopes: readonly string[]) => {
    const actor = { type: 'user', id: userId } as const;
    const details = { scopes: scopes.join(' ') };
    return { ...originOf(from), tenantId, clientId, actor, subject: userId, details };
  };
  return {
    granted: (...consent) =>
      auditRow({ event: 'consent.granted', outcome: 'success', ...what(...consent) }, runtime),
    denied: (...consent) =>
      batch.add({ event: 'consent.denied', outcome: 'failure', reason: 'denied', ...what(...consent) }),
  };
}
