import { timingSafeEqual } from 'node:crypto';
import { addressKey } from '@tessera/stores';
import { opaqueValue } from '@tessera/kit';
import type { Random } from '@tessera/kit';
import { OAuthError } from '@tessera/oauth';
import { digest } from '../browser.ts';
import type { Browser } from '../browser.ts';
import type { CheckedRequest } from './request.ts';
import { rememberedParameters } from './request.ts';
import type { ContextStore, PendingRequest } from '../store/store.ts';

/**
 * A pre-authorization context: an authorization request that waits for a person. Its identifier travels in URLs and
 * forms, so it is worth nothing without the cookie of the browser that began it (CVE-2026-7507, CVE-2022-39222).
 */
export interface Interactions {
  /** Keeps a checked request for this browser and answers the new identifier. */
  begin(
    browser: Browser,
    request: CheckedRequest,
    parameters: Readonly<Record<string, string>>,
  ): Promise<string>;
  /** The request of this browser; throws `invalid_request` for an unknown, expired or foreign identifier. */
  find(browser: Browser, interactionId: string): Promise<PendingRequest>;
  /** Ends it. Exactly one of any number of callers succeeds; throws `invalid_request` for the others. */
  take(interactionId: string): Promise<void>;
}

const interactionShape = /^ti_[A-Za-z0-9_-]{43}$/;
const browserShape = /^tb_[A-Za-z0-9_-]{22,86}$/;

export function createInteractions(deps: {
  readonly store: ContextStore;
  readonly random: Random;
  readonly lifetimeSeconds: number;
}): Interactions {
  const { store, random, lifetimeSeconds } = deps;
  return {
    async begin(browser, request, parameters) {
      if (!browserShape.test(browser.browserId)) throw invalidContext('no browser identifier');
      const interactionId = opaqueValue('ti_', random);
      const pending: PendingRequest = {
        browserHash: digest(browser.browserId),
        tenantId: request.record.tenant.tenantId,
        issuer: request.issuer,
        parameters: rememberedParameters(parameters),
        hintedUserId: request.hintedUserId,
      };
      const origin = addressKey(browser.ipAddress);
      await store.save(digest(interactionId), pending, lifetimeSeconds, origin);
      return interactionId;
    },

    async find(browser, interactionId) {
      if (!interactionShape.test(interactionId)) throw invalidContext('malformed identifier');
      if (!browserShape.test(browser.browserId)) throw invalidContext('no browser identifier');
      const pending = await store.find(digest(interactionId));
      if (pending === undefined) throw invalidContext('unknown or expired');
      const presented = Buffer.from(digest(browser.browserId));
      const owner = Buffer.from(pending.browserHash);
      if (presented.length !== owner.length || !timingSafeEqual(presented, owner)) {
        throw invalidContext('of another browser');
      }
      return pending;
    },

    async take(interactionId) {
      if (!(await store.take(digest(interactionId)))) throw invalidContext('used meanwhile');
    },
  };
}

/** One sentence for every way a context can be wrong; which one is for the log. */
function invalidContext(cause: string): OAuthError {
  return new OAuthError('invalid_request', 'The authorization context is invalid or has expired.', { cause });
}

/** What the sign-in page shows. */
export interface InteractionView {
  readonly interactionId: string;
  readonly tenantId: string;
  readonly tenantName: string;
  readonly clientId: string;
  readonly applicationName: string;
  readonly loginHint: string;
  readonly scopes: string[];
}

export function describeInteraction(interactionId: string, request: CheckedRequest): InteractionView {
  const { application, tenant } = request.record;
  return {
    interactionId,
    tenantId: tenant.tenantId,
    tenantName: tenant.name,
    clientId: application.clientId,
    applicationName: application.name,
    loginHint: request.form.loginHint ?? '',
    scopes: [...request.scopes],
  };
}
