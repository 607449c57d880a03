import type { AuditBatch } from '@tessera/audit';
import { originOf } from '../../audit.ts';
import type { BrowserCall } from '../../browser-call.ts';
import type { Policy } from '../../visits/step.ts';
import type { Session } from '../../store/session-store.ts';
import type { RefusedSignIn } from './provider-refusals.ts';

/** The audit events of sign-ins with providers. */
export interface ProviderAudit {
  /** `provider` is its name, as far as it is known. */
  refused(
    from: BrowserCall,
    at: Pick<Policy, 'tenantId' | 'clientId'>,
    provider: string,
    refused: RefusedSignIn,
  ): void;
  /** Nothing was linked to the account of a person. */
  linkRefused(
    from: BrowserCall,
    person: Pick<Session, 'tenantId' | 'userId' | 'sessionId'>,
    provider: string,
    refused: Pick<RefusedSignIn, 'reason' | 'detail'>,
  ): void;
  /** A logout token ended nothing. */
  logoutRefused(
    by: { readonly requestId: string; readonly ipAddress: string; readonly tenantId: string },
    provider: string,
    refused: Pick<RefusedSignIn, 'reason' | 'detail'>,
  ): void;
}

export function createProviderAudit(batch: AuditBatch): ProviderAudit {
  return {
    refused(from, { tenantId, clientId }, provider, { reason, detail }) {
      batch.add({
        event: 'auth.login.failed',
        outcome: 'failure',
        reason,
        ...originOf(from),
        tenantId,
        ...(clientId === '' ? {} : { clientId }),
        details: detailsOf(provider, detail),
      });
    },

    logoutRefused(by, provider, { reason, detail }) {
      const event = { event: 'auth.provider.logout_refused', outcome: 'failure', reason } as const;
      batch.add({ ...event, ...by, details: detailsOf(provider, detail) });
    },

    linkRefused(from, { tenantId, userId, sessionId }, provider, { reason, detail }) {
      batch.add({
        event: 'auth.provider.link_refused',
        outcome: 'failure',
        reason,
        ...originOf(from),
        tenantId,
        subject: userId,
        actor: { type: 'user', id: userId },
        sessionId,
        details: detailsOf(provider, detail),
      });
    },
  };
}

function detailsOf(provider: string, detail: string) {
  return { provider, ...(detail === '' ? {} : { detail }) };
}
