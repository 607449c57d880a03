import { timingSafeEqual } from 'node:crypto';
import { addressKey } from '@tessera/stores';
import { opaqueValue } from '@tessera/kit';
import type { Random } from '@tessera/kit';
import { OAuthError } from '@tessera/oauth';
import { digest } from '../browser.ts';
import type { Browser } from '../browser.ts';
import type { CheckedRequest } from './request.ts';
import { parametersToSave } from './request.ts';
import type { AnsweredRequest, PendingRequestStore, PendingRequest } from '../store/store.ts';

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
  /** What a sign-in with the same form may be repeated for, because its answer may be lost; throws as `find` does. */
  findToSignIn(browser: Browser, interactionId: string): Promise<RequestToSignIn>;
  /** Ends it with this answer for exactly one caller; throws `invalid_request` for all others. */
  answer(interactionId: string, pending: PendingRequest, answer: Answer): Promise<void>;
  /** Replaces the answer that a repeated sign-in superseded. */
  answerAgain(interactionId: string, pending: PendingRequest, answer: Answer): Promise<void>;
}

export type Answer = Omit<AnsweredRequest, 'request'>;

export interface RequestToSignIn {
  readonly pending: PendingRequest;
  /** The answer to the same form before; undefined for the first one. */
  readonly before: Answer | undefined;
}

/** Bytes of a stored record. Anybody can have records stored, so their size times the quota of an address is the cost. */
const longestRecord = 4096;

const interactionShape = /^ti_[A-Za-z0-9_-]{43}$/;
const browserShape = /^tb_[A-Za-z0-9_-]{22,86}$/;

export function createPendingRequests(deps: {
  readonly store: PendingRequestStore;
  readonly random: Random;
  readonly lifetimeSeconds: number;
  /** How long an answer may be repeated: no longer than its code lives, which says whether it was used. */
  readonly answerSeconds: number;
}): PendingRequests {
  const { store, random, lifetimeSeconds, answerSeconds } = deps;
  const idHashOf = (browser: Browser, interactionId: string): string => {
    if (!interactionShape.test(interactionId)) throw invalidContext('malformed identifier');
    if (!browserShape.test(browser.browserId)) throw invalidContext('no browser identifier');
    return digest(interactionId);
  };
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
      return ownedBy(browser, await store.find(idHashOf(browser, interactionId)));
    },

    async findToSignIn(browser, interactionId) {
      const idHash = idHashOf(browser, interactionId);
      const pending = await store.find(idHash);
      if (pending !== undefined) return { pending: ownedBy(browser, pending), before: undefined };
      const answered = await store.findAnswered(idHash);
      return { pending: ownedBy(browser, answered?.request), before: answered };
    },

    async answer(interactionId, request, answer) {
      const isFirst = await store.answer(digest(interactionId), { request, ...answer }, answerSeconds);
      if (!isFirst) throw invalidContext('already used');
    },

    answerAgain: (interactionId, request, answer) =>
      store.answerAgain(digest(interactionId), { request, ...answer }, answerSeconds),
  };
}

function ownedBy(browser: Browser, pending: PendingRequest | undefined): PendingRequest {
  if (pending === undefined) throw invalidContext('unknown or expired');
  const presented = Buffer.from(digest(browser.browserId));
  const owner = Buffer.from(pending.browserHash);
  if (presented.length !== owner.length || !timingSafeEqual(presented, owner)) {
    throw invalidContext('belongs to another browser');
  }
  if (browser.issuer !== '' && browser.issuer !== pending.issuer) throw invalidContext('of another issuer');
  return pending;
}

/** One message for every kind of invalid context; the cause goes to the log. */
export function invalidContext(cause: string): OAuthError {
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
