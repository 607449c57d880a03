import type { DirectoryClient } from '@tessera/directory-client';
import { neededFactors, type ClientRedirect } from '@tessera/oauth';
import type { Application, Tenant, User } from '@tessera/proto-gen/directory';
import type { AuthorizeAudit } from '../audit.ts';
import { checkRequest, isRefusal } from '../request/request.ts';
import type { AskedRequest, CheckedRequest, Refusal } from '../request/request.ts';
import type { BrowserCall } from '../browser-call.ts';
import { counts } from '../sessions/counts.ts';
import type { Session } from '../store/session-store.ts';
import type { KnownPerson, Visit } from '../store/visit-store.ts';
import { isSensitive } from './sensitive.ts';
import type { Policy } from '../visits/step.ts';
import { invalidContext } from '../visits/visits.ts';

/** The browser takes the response to the client. */
export interface ToClient {
  readonly next: 'redirect';
  readonly redirect: ClientRedirect;
}

/** What the current records say of a visit. Throws OAuthError for what the browser sees as an error page. */
export interface Policies {
  /** The policy of a new authorization request, or the refusal for its client. */
  ofRequest(from: BrowserCall, asked: AskedRequest): Promise<PolicyOfRequest | ToClient>;
  /** The policy of a visit. A request of anything disabled since gets the refusal. */
  of(from: BrowserCall, visit: Visit): Promise<Policy | ToClient>;
  /** The person who is known; undefined if their sign-in no longer counts, or not for the application. */
  person(from: BrowserCall, policy: Policy, known: KnownPerson): Promise<User | undefined>;
  /**
   * Throws `invalid_request` if somebody is known whose sign-in no longer counts: a step may change what is theirs for
   * good.
   */
  requirePerson(from: BrowserCall, policy: Policy, visit: Visit): Promise<void>;
  /**
   * Whether the browser is signed in to another tenant. Such a session is neither used nor replaced: the contract
   * rejects the request.
   */
  isElsewhere(from: BrowserCall, policy: Policy, present: Session | undefined): boolean;
}

export interface PolicyOfRequest extends Policy {
  readonly request: CheckedRequest;
}

export function createPolicies(deps: {
  readonly directory: DirectoryClient;
  readonly audit: Pick<AuthorizeAudit, 'requestRejected' | 'tenantMismatch'>;
  readonly ignoreUnknownScopes: boolean;
}): Policies {
  const { directory, audit, ignoreUnknownScopes } = deps;

  async function ofRequest(from: BrowserCall, asked: AskedRequest): Promise<PolicyOfRequest | ToClient> {
    const { tenantId } = from.browser;
    const lookup = { directory, call: from.call.onward(), ignoreUnknownScopes, tenantId };
    const request = await checkRequest(asked, lookup);
    if (!isRefusal(request)) {
      const { application, tenant } = request.record;
      return {
        tenantId: tenant.tenantId,
        clientId: application.clientId,
        request,
        needsOwnFactor: false,
        ...needsOf({ tenant, application, request }),
      };
    }
    audit.requestRejected(from, request);
    if (request.redirect === undefined) throw refusedRequest(request);
    return { next: 'redirect', redirect: request.redirect };
  }

  /** The application whose request the person is about to decide; undefined at other pages of ours. */
  async function decidedFor({ call }: BrowserCall, { tenantId, parameters }: Visit) {
    const clientId = parameters['client_id'] ?? '';
    const found = clientId === '' ? undefined : await directory.application(clientId, call.onward());
    return found?.tenant.tenantId === tenantId ? found.application : undefined;
  }

  const person: Policies['person'] = async ({ call }, { tenantId, request }, known) => {
    const { userId, signedInAt, sessionId, methods } = known;
    const since = signedInAt === undefined ? undefined : signedInAt / 1000;
    const user = await directory.user(tenantId, userId, call.onward());
    if (user === undefined || !directory.isActive(user, since)) return undefined;
    if (sessionId === undefined) return user;
    const tenant = request?.record.tenant ?? (await directory.tenant(tenantId, call.onward()));
    if (!counts(tenant, user, { time: since ?? Infinity, methods })) return undefined;
    return request === undefined || directory.isActive(request.record, since) ? user : undefined;
  };

  return {
    ofRequest,
    person,

    async requirePerson(from, policy, visit) {
      if (visit.person !== undefined && (await person(from, policy, visit.person)) === undefined)
        throw invalidContext('the sign-in of the person no longer counts');
    },

    async of(from, visit) {
      if (visit.purpose !== 'code') {
        const { tenantId, purpose } = visit;
        const tenant = await directory.tenant(tenantId, from.call.onward());
        const application = await decidedFor(from, visit);
        const needsOwnFactor = isSensitive(purpose);
        return {
          tenantId,
          clientId: '',
          request: undefined,
          needsOwnFactor,
          ...needsOf({ tenant, application }),
        };
      }
      const policy = await ofRequest(from, visit);
      if ('tenantId' in policy && policy.tenantId !== visit.tenantId)
        throw new Error('an application changed its tenant');
      return policy;
    },

    isElsewhere(from, { tenantId, clientId }, present) {
      if (present === undefined || present.tenantId === tenantId) return false;
      audit.tenantMismatch(from, tenantId, clientId, present);
      return true;
    },
  };
}

/**
 * The error of a refused request, with what the access log says of it. The client is looked up after the parameters are
 * checked.
 */
function refusedRequest({ error, phase, record }: Refusal): Refusal['error'] {
  const unknown = phase === 'application' ? 'unknown_client' : undefined;
  return error.withRefusal({
    clientId: record?.application.clientId ?? unknown,
    phase,
    reason: typeof error.cause === 'string' ? error.cause : error.message,
  });
}

/** What tenant, application and request need together, and what the tenant can do. */
function needsOf({
  tenant,
  application,
  request,
}: {
  readonly tenant: Tenant | undefined;
  readonly application?: Application | undefined;
  readonly request?: CheckedRequest;
}): Pick<
  Policy,
  'needsTwoFactors' | 'needsPhishingResistance' | 'sendsMail' | 'registers' | 'signInMethods'
> {
  const policies = [tenant, application].map((record) => record?.authenticationPolicy ?? '');
  return {
    ...neededFactors(policies, request?.neededClasses),
    sendsMail: tenant?.sendsMail === true,
    registers: tenant?.sendsMail === true && !['', 'closed'].includes(tenant.registration),
    signInMethods: tenant?.signInMethods ?? [],
  };
}
