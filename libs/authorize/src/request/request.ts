import {
  authorizationParameters,
  checkAuthorizationParameters,
  checkParameterLengths,
  checkUnsupportedParameters,
  entitledClaims,
  acrValues,
  grantScopes,
  issuesLikeKeycloak,
  oneFactorAcr,
  matchesRegistered,
  missingPkce,
  noRequestedClaims,
  OAuthError,
  parameter,
  parseClaimsParameter,
  parseMaxAge,
  parseScope,
  promptValues,
  receivedUri,
} from '@tessera/oauth';
import type {
  AuthorizationRequest as Form,
  ClientRedirect,
  PromptValue,
  RequestedClaims,
} from '@tessera/oauth';
import { isServedAt, type ApplicationRecord, type DirectoryClient } from '@tessera/directory-client';
import type { CallOptions } from '@tessera/rpc';
import { errorResponse, responseModeProblem } from './error-responses.ts';
import { membersOfRequestObject } from './request-object.ts';

/** An authorization request as received, or as saved while a person signs in. */
export interface AskedRequest {
  readonly parameters: Readonly<Record<string, string>>;
  readonly issuer: string;
  /** Subject of a valid `id_token_hint`; empty without one. */
  readonly hintedUserId: string;
  /** Whether the `id_token_hint` is no ID token of this issuer. Such a request is never saved. */
  readonly idTokenHintIsInvalid?: boolean;
}

/** An authorization request that passed every check that does not depend on the person. */
export interface CheckedRequest {
  readonly form: Form;
  readonly record: ApplicationRecord;
  readonly scopes: readonly string[];
  /** The named resource, else those of the granted API scopes (`resourcesIn`); empty if there is neither. */
  readonly resource: string;
  readonly prompt: ReadonlySet<PromptValue>;
  /** Seconds since the person last signed in; undefined without a limit. */
  readonly maxAge: number | undefined;
  /** Claims requested by name to which the scopes of the application entitle it. */
  readonly claims: Pick<RequestedClaims, 'userinfo' | 'idToken'>;
  /** Classes of sign-ins (`acr`) that the client asks for; the strongest one counts. */
  readonly neededClasses: readonly string[];
  /** The only person the client accepts (OIDC Core §3.1.2.1, id_token_hint, and §5.5.1, sub); empty for anyone. */
  readonly hintedUserId: string;
  readonly issuer: string;
}

/** A rejected request: the phase, and the response to the client; without one the browser sees our error page. */
export interface Refusal {
  readonly phase: string;
  readonly error: OAuthError;
  readonly redirect: ClientRedirect | undefined;
  /** Known from phase 2 on. */
  readonly record: ApplicationRecord | undefined;
}

interface Draft {
  readonly parameters: Readonly<Record<string, string>>;
  readonly issuer: string;
  form?: Form;
  record?: ApplicationRecord;
  granted?: { readonly scopes: readonly string[]; readonly resource: string };
  prompt?: ReadonlySet<PromptValue>;
  maxAge?: number | undefined;
  claims?: Pick<RequestedClaims, 'userinfo' | 'idToken'>;
  neededClasses?: readonly string[];
  hintedUserId: string;
  readonly idTokenHintIsInvalid: boolean;
}

interface Lookup {
  /** The tenant whose own issuer the request was sent to; empty at the shared issuer. */
  readonly tenantId: string;
  readonly directory: DirectoryClient;
  readonly call: CallOptions;
  readonly ignoreUnknownScopes: boolean;
}

interface Phase {
  readonly name: string;
  /** Errors travel by redirect only after client and redirect URI have been checked (RFC 9700 §4.11). */
  readonly failure: 'error' | 'redirect';
  readonly check: (draft: Draft, lookup: Lookup) => void | Promise<void>;
}

/** The checks in order, and how a failure of each is answered. */
export const phases: readonly Phase[] = [
  /* 1 */ { name: 'parameters', failure: 'error', check: checkParameters }, // contract, RFC 6749 §4.1.1, RFC 7636 §4.3
  /* 2 */ { name: 'application', failure: 'error', check: checkApplication }, // RFC 6749 §3.1.2.4
  /* 3 */ { name: 'redirect_uri', failure: 'error', check: checkRedirectUri }, // RFC 9700 §2.1
  /* 4 */ { name: 'response_mode', failure: 'redirect', check: checkResponseMode }, // OAuth 2.0 Form Post Response Mode
  /* 5 */ { name: 'lengths', failure: 'redirect', check: checkLengths }, // RFC 6749 §4.1.2.1 invalid_request
  /* 6 */ { name: 'grant_type', failure: 'redirect', check: checkGrantType }, // RFC 6749 §4.1.2.1 unauthorized_client
  /* 7 */ { name: 'unsupported', failure: 'redirect', check: checkUnsupported }, // OIDC Core §6, §7.2.1
  /* 8 */ { name: 'scope', failure: 'redirect', check: checkScope }, // RFC 6749 §3.3, RFC 8707 §2
  /* 9 */ { name: 'prompt', failure: 'redirect', check: checkPrompt }, // OIDC Core §3.1.2.1
  /* 10 */ { name: 'max_age', failure: 'redirect', check: checkMaxAge }, // OIDC Core §3.1.2.1
  /* 11 */ { name: 'id_token_hint', failure: 'redirect', check: checkHint }, // OIDC Core §3.1.2.1
  /* 12 */ { name: 'claims', failure: 'redirect', check: checkClaims }, // OIDC Core §5.5, acr_values: §3.1.2.1
];

/** Runs every phase. Throws if the directory fails; returns a refusal if the request is invalid. */
export async function checkRequest(
  { parameters, issuer, hintedUserId, idTokenHintIsInvalid = false }: AskedRequest,
  lookup: Lookup,
): Promise<CheckedRequest | Refusal> {
  const draft: Draft = { parameters, issuer, hintedUserId, idTokenHintIsInvalid };
  for (const phase of phases) {
    try {
      await phase.check(draft, lookup);
    } catch (error) {
      if (!(error instanceof OAuthError) || error.code === 'temporarily_unavailable') throw error;
      return refusal(phase, error, draft);
    }
  }
  return {
    form: settled(draft.form),
    record: settled(draft.record),
    ...settled(draft.granted),
    prompt: settled(draft.prompt),
    maxAge: draft.maxAge,
    claims: settled(draft.claims),
    neededClasses: settled(draft.neededClasses),
    hintedUserId: draft.hintedUserId,
    issuer,
  };
}

export function isRefusal(result: CheckedRequest | Refusal): result is Refusal {
  return 'error' in result;
}

/** The parameters to save while a person signs in; no others are. */
export function parametersToSave(parameters: Readonly<Record<string, string>>): Record<string, string> {
  const saved: Record<string, string> = {};
  for (const name of authorizationParameters) {
    const value = parameter(parameters, name);
    if (value !== undefined) saved[name] = value;
  }
  return saved;
}

function refusal(phase: Phase, error: OAuthError, draft: Draft): Refusal {
  const redirect =
    phase.failure === 'redirect'
      ? errorResponse({ form: settled(draft.form), issuer: draft.issuer }, error)
      : undefined;
  return { phase: phase.name, error, redirect, record: draft.record };
}

function settled<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a phase ran before the one it depends on');
  return value;
}

function checkParameters(draft: Draft): void {
  draft.form = checkAuthorizationParameters(draft.parameters);
}

async function checkApplication(draft: Draft, { directory, call, tenantId }: Lookup): Promise<void> {
  const { clientId, codeChallenge } = settled(draft.form);
  const known = await directory.application(clientId, call);
  // A client of another issuer is unknown here.
  const isServed = known !== undefined && isServedAt(known.tenant, { issuer: draft.issuer, tenantId });
  const record = isServed ? known : undefined;
  if (record !== undefined) draft.record = record;
  // Before the client is judged, so that the contract's message comes first for unknown clients too.
  if (codeChallenge === '' && record?.application.pkceOptional !== true) throw missingPkce();
  // The same message for unknown and disabled clients, so that it does not reveal which exist.
  if (record === undefined || !directory.isActive(record)) {
    throw new OAuthError('invalid_request', 'The client is not known.', {
      cause: record === undefined ? 'unknown client_id' : 'application or tenant is not active',
    });
  }
}

function checkRedirectUri(draft: Draft): void {
  const { redirectUri } = settled(draft.form);
  const { application } = settled(draft.record);
  if (!matchesRegistered(application.redirectUris, redirectUri, application)) {
    throw new OAuthError('invalid_request', 'The redirect_uri is not registered for this client.', {
      refusal: { received: receivedUri(redirectUri), hint: exactly },
    });
  }
}

const exactly =
  'It must equal a redirect URI of the application: scheme, host, port, path, trailing slash and query.';

/** The error goes in the query: the mode of the request is what is refused. */
function checkResponseMode(draft: Draft): void {
  const form = settled(draft.form);
  const problem = responseModeProblem(form, settled(draft.record));
  if (problem === undefined) return;
  draft.form = { ...form, responseMode: 'query' };
  throw new OAuthError('invalid_request', `${problem} Use response_mode=query.`);
}

function checkLengths(draft: Draft): void {
  checkParameterLengths(draft.parameters);
}

function checkGrantType(draft: Draft): void {
  if (!settled(draft.record).application.grantTypes.includes('authorization_code')) {
    throw new OAuthError('unauthorized_client', 'The client may not use the authorization code grant.');
  }
}

/**
 * Request objects are refused (OIDC Core §6). `state` and `response_mode` may be in the object alone (§6.1), so both
 * are read from it to send the error where the client expects it.
 */
function checkUnsupported(draft: Draft): void {
  const form = settled(draft.form);
  const object = membersOfRequestObject(parameter(draft.parameters, 'request'));
  const formPost = object.response_mode === 'form_post' && /^https?:/i.test(form.redirectUri);
  draft.form = {
    ...form,
    state: form.state ?? object.state,
    responseMode: formPost ? 'form_post' : form.responseMode,
  };
  checkUnsupportedParameters(draft.parameters);
}

function checkScope(draft: Draft, { ignoreUnknownScopes }: Lookup): void {
  const { scope, resource } = settled(draft.form);
  const { application, tenant } = settled(draft.record);
  const { scopes: available, defaultScopes: always } = application;
  draft.granted = grantScopes({
    requested: parseScope(scope),
    resource,
    available,
    always,
    person: true,
    ignoreUnknown: ignoreUnknownScopes,
    likeKeycloak: issuesLikeKeycloak(tenant),
  });
}

function checkPrompt(draft: Draft): void {
  draft.prompt = promptValues(parameter(draft.parameters, 'prompt'));
}

function checkMaxAge(draft: Draft): void {
  draft.maxAge = parseMaxAge(parameter(draft.parameters, 'max_age'));
}

/** The client accepts one person only, and the server cannot tell who that is. */
function checkHint({ idTokenHintIsInvalid }: Draft): void {
  if (!idTokenHintIsInvalid) return;
  throw new OAuthError('invalid_request', 'The id_token_hint is not an ID token of this issuer.');
}

/**
 * Only a request for `openid` is one of OIDC. A requested subject is a hint: only that user's session or sign-in is
 * accepted.
 */
function checkClaims(draft: Draft): void {
  const asked = settled(draft.granted).scopes.includes('openid')
    ? parseClaimsParameter(parameter(draft.parameters, 'claims'))
    : noRequestedClaims;
  const { scopes } = settled(draft.record).application;
  draft.claims = {
    userinfo: entitledClaims(asked.userinfo, scopes),
    idToken: entitledClaims(asked.idToken, scopes),
  };
  const askedAcr = parameter(draft.parameters, 'acr_values')?.split(' ') ?? [];
  draft.neededClasses = [asked.acrValues, askedAcr].map(weakestClass);
  if (asked.subject === '') return;
  if (draft.hintedUserId !== '' && draft.hintedUserId !== asked.subject) {
    throw new OAuthError('login_required', 'The id_token_hint and the requested sub name different people.');
  }
  draft.hintedUserId = asked.subject;
}

/** The weakest of the classes of this server that the client asks for; without any, the weakest of all. */
function weakestClass(asked: readonly string[]): string {
  return acrValues.find((value) => asked.includes(value)) ?? oneFactorAcr;
}
