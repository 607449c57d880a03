import { timingSafeEqual } from 'node:crypto';
import { addressKey } from '@tessera/stores';
import { opaqueValue } from '@tessera/kit';
import type { Random } from '@tessera/kit';
import { OAuthError } from '@tessera/oauth';
import { digest } from '../browser.ts';
import type { Browser } from '../browser.ts';
import type { CheckedRequest } from './request.ts';
import { parametersToSave } from './request.ts';
import type { PendingRequestStore, PendingRequest } from '../store/store.ts';

/**
 * Pre-authorization contexts: authorization requests that wait for a person to sign in. Their identifiers travel in URLs
 * and forms, so each is valid only with the cookie of the browser that made the request (CVE-2026-7507, CVE-2022-39222).
 */
export interface PendingRequests {
  /**
   * Saves a checked request for this browser and returns the new identifier. Throws `invalid_request` for a request that is too
   * long and `rate_limited` for an address with too many.
   */
  save(
    browser: Browser,
    request: CheckedRequest,
    parameters: Readonly<Record<string, string>>,
  ): Promise<string>;
  /** The request of this browser; throws `invalid_request` for an unknown, expired or foreign identifier. */
  find(browser: Browser, interactionId: string): Promise<PendingRequest>;
  /** Removes it for exactly one caller; throws `invalid_request` for all others. */
  take(interactionId: string): Promise<void>;
}

/** Bytes of a stored record. Anybody can have records stored, so their size times the quota of an address is the cost. */
const longestRecord = 4096;

const interactionShape = /^ti_[A-Za-z0-9_-]{43}$/;
const browserShape = /^tb_[A-Za-z0-9_-]{22,86}$/;

export function createPendingRequests(deps: {
  readonly store: PendingRequestStore;
  readonly random: Random;
  readonly lifetimeSeconds: number;
}): PendingRequests {
  const { store, random, lifetimeSeconds } = deps;
  return {
    async save(browser, request, parameters) {
      if (!browserShape.test(browser.browserId)) throw invalidContext('no browser identifier');
      const interactionId = opaqueValue('ti_', random);
      const pending: PendingRequest = {
        browserHash: digest(browser.browserId),
        tenantId: request.record.tenant.tenantId,
        issuer: request.issuer,
        parameters: { ...parametersToSave(parameters), scope: request.scopes.join(' ') },
        hintedUserId: request.hintedUserId,
      };
      if (Buffer.byteLength(JSON.stringify(pending)) > longestRecord) {
        throw new OAuthError(
          'invalid_request',
          `The authorization request is too long: its parameters may have about ${longestRecord} bytes in all. Shorten state, redirect_uri or login_hint.`,
        );
      }
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
        throw invalidContext('belongs to another browser');
      }
      return pending;
    },

    async take(interactionId) {
      if (!(await store.take(digest(interactionId)))) throw invalidContext('already used');
    },
  };
}

/** One message for every kind of invalid context; the cause goes to the log. */
function invalidContext(cause: string): OAuthError {
  return new OAuthError('invalid_request', 'The authorization context is invalid or has expired.', { cause });
}

/** What the sign-in page shows. */
export interface Interaction {
  readonly interactionId: string;
  readonly tenantId: string;
  readonly tenantName: string;
  readonly clientId: string;
  readonly applicationName: string;
  readonly loginHint: string;
  readonly scopes: string[];
}

export function describeInteraction(interactionId: string, request: CheckedRequest): Interaction {
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
