import { timingSafeEqual } from 'node:crypto';
import { addressKey } from '@tessera/stores';
import { opaqueValue } from '@tessera/kit';
import type { Random } from '@tessera/kit';
import { OAuthError } from '@tessera/oauth';
import { digest } from '../browser-call.ts';
import type { Browser } from '../browser-call.ts';
import type { AskedRequest, CheckedRequest } from '../request/request.ts';
import { parametersToSave } from '../request/request.ts';
import type { AnsweredVisit, EndingVisit, Purpose, Visit, VisitStore } from '../store/visit-store.ts';
import type { KnownVisit, Policy } from './step.ts';

/**
 * The visits of browsers. A visit is stored as soon as there is something to remember: an authorization request, or a
 * step that another one follows. Identifiers travel in URLs and forms, so each is valid only with the cookie of the
 * browser that began the visit (CVE-2026-7507, CVE-2022-39222).
 */
export interface Visits {
  /**
   * Saves a visit and returns its new identifier. Throws `invalid_request` for a browser without an identifier and for
   * a request that is too long, and `rate_limited` for an address with too many.
   */
  save(browser: Browser, visit: Visit): Promise<string>;
  /** The visit of this browser; throws `invalid_request` for an unknown, expired or foreign identifier. */
  find(browser: Browser, interactionId: string): Promise<Visit>;
  /** What a form may be repeated for, because its answer may be lost; throws as `find` does. */
  findToContinue(browser: Browser, interactionId: string): Promise<StoredVisit>;
  /** Saves what a step changed; throws `invalid_request` if the visit has ended. */
  update(interactionId: string, visit: Visit): Promise<void>;
  /** Ends it with this answer for exactly one caller; throws `invalid_request` for all others. */
  answer(interactionId: string, visit: Visit, answer: Answer): Promise<void>;
  /** The same, to be done together with the code of the answer. */
  ending(interactionId: string, visit: Visit, answer: Answer): EndingVisit;
  /** Replaces the answer that a repeated form superseded. */
  answerAgain(interactionId: string, visit: Visit, answer: Answer): Promise<void>;
}

export type Answer = Omit<AnsweredVisit, 'request'>;

export interface StoredVisit {
  readonly visit: Visit;
  /** The answer to the same form before; undefined for the first one. */
  readonly before: Answer | undefined;
}

/**
 * Bytes of a stored record: the longest `state` and `nonce` of ASCII, and the rest. Anybody can have records stored, so
 * their size times the quota of an address is the cost.
 */
const longestRecord = 24 * 1024;

const interactionShape = /^ti_[A-Za-z0-9_-]{43}$/;
const browserShape = /^tb_[A-Za-z0-9_-]{22,86}$/;

export function createVisits(deps: {
  readonly store: VisitStore;
  readonly random: Random;
  readonly lifetimeSeconds: number;
  /** How long an answer may be repeated: no longer than its code lives, which says whether it was used. */
  readonly answerSeconds: number;
}): Visits {
  const { store, random, lifetimeSeconds, answerSeconds } = deps;
  const ending = (interactionId: string, visit: Visit, answer: Answer): EndingVisit => ({
    idHash: digest(interactionId),
    answered: { request: visit, ...answer },
    lifetimeSeconds: answerSeconds,
  });
  const idHashOf = (browser: Browser, interactionId: string): string => {
    if (!interactionShape.test(interactionId)) throw invalidContext('malformed identifier');
    if (!browserShape.test(browser.browserId)) throw invalidContext('no browser identifier');
    return digest(interactionId);
  };
  return {
    async save(browser, visit) {
      if (!browserShape.test(browser.browserId)) throw invalidContext('no browser identifier');
      const interactionId = opaqueValue('ti_', random);
      if (Buffer.byteLength(JSON.stringify(visit)) > longestRecord) {
        throw new OAuthError(
          'invalid_request',
          `The authorization request is too long: its parameters may have about ${longestRecord} bytes in all. Shorten state, redirect_uri or login_hint.`,
        );
      }
      await store.save(digest(interactionId), visit, lifetimeSeconds, addressKey(browser.ipAddress));
      return interactionId;
    },

    async find(browser, interactionId) {
      return ownedBy(browser, await store.find(idHashOf(browser, interactionId)));
    },

    async findToContinue(browser, interactionId) {
      const idHash = idHashOf(browser, interactionId);
      const visit = await store.find(idHash);
      if (visit !== undefined) return { visit: ownedBy(browser, visit), before: undefined };
      const answered = await store.findAnswered(idHash);
      return { visit: ownedBy(browser, answered?.request), before: answered };
    },

    async update(interactionId, visit) {
      if (!(await store.update(digest(interactionId), visit))) throw invalidContext('already used');
    },

    async answer(interactionId, visit, answer) {
      const { idHash, answered, lifetimeSeconds } = ending(interactionId, visit, answer);
      if (!(await store.answer(idHash, answered, lifetimeSeconds))) throw invalidContext('already used');
    },

    ending,

    answerAgain: (interactionId, visit, answer) =>
      store.answerAgain(digest(interactionId), { request: visit, ...answer }, answerSeconds),
  };
}

function ownedBy(browser: Browser, visit: Visit | undefined): Visit {
  if (visit === undefined) throw invalidContext('unknown or expired');
  const presented = Buffer.from(digest(browser.browserId));
  const owner = Buffer.from(visit.browserHash);
  if (presented.length !== owner.length || !timingSafeEqual(presented, owner)) {
    throw invalidContext('belongs to another browser');
  }
  if (browser.issuer !== '' && browser.issuer !== visit.issuer) throw invalidContext('of another issuer');
  return visit;
}

/** One message for every kind of invalid visit; the cause goes to the log. */
export function invalidContext(cause: string): OAuthError {
  return new OAuthError('invalid_request', 'The authorization context is invalid or has expired.', { cause });
}

/** What is known of a new visit for an authorization request. Most end with it, as the person has a session. */
export function knownOfRequest({ record, issuer, hintedUserId }: CheckedRequest): KnownVisit {
  return { purpose: 'code', tenantId: record.tenant.tenantId, issuer, hintedUserId, done: [] };
}

/** The visit for an authorization request, as it is kept while the person is asked something. */
export function keptVisit(
  browser: Browser,
  given: {
    readonly known: KnownVisit;
    readonly request: Pick<CheckedRequest, 'scopes'>;
    readonly asked: Pick<AskedRequest, 'parameters'>;
    readonly random: Random;
  },
): Visit {
  const { known, request, asked, random } = given;
  return {
    ...known,
    browserHash: digest(browser.browserId),
    parameters: { ...parametersToSave(asked.parameters), scope: request.scopes.join(' ') },
    seed: opaqueValue('', random, 16),
  };
}

/** A new visit to a page of ours; with `clientId`, to decide a request of that application. */
export function visitToPage(
  browser: Browser,
  { purpose, tenantId, clientId = '' }: { purpose: Purpose; tenantId: string; clientId?: string },
  random: Random,
): Visit {
  const browserHash = digest(browser.browserId);
  return {
    purpose,
    browserHash,
    tenantId,
    issuer: browser.issuer,
    parameters: clientId === '' ? {} : { client_id: clientId },
    hintedUserId: '',
    seed: opaqueValue('', random, 16),
    done: [],
  };
}

/** What the page of a step shows of its visit. */
export interface Interaction {
  /** Empty for a visit that is not stored. */
  readonly interactionId: string;
  readonly tenantId: string;
  /** These are empty at our own pages. */
  readonly tenantName: string;
  readonly clientId: string;
  readonly applicationName: string;
  readonly loginHint: string;
  readonly uiLocales: string;
  readonly scopes: string[];
}

export function describeInteraction(interactionId: string, { tenantId, request }: Policy): Interaction {
  return {
    interactionId,
    tenantId,
    tenantName: request?.record.tenant.name ?? '',
    clientId: request?.record.application.clientId ?? '',
    applicationName: request?.record.application.name ?? '',
    loginHint: request?.form.loginHint ?? '',
    uiLocales: request?.form.uiLocales ?? '',
    scopes: [...(request?.scopes ?? [])],
  };
}
