import type { ApplicationRecord } from '@tessera/directory-client';
import { authorizationResponse, OAuthError } from '@tessera/oauth';
import type { AuthorizationRequest, ClientRedirect } from '@tessera/oauth';
import { ApplicationType } from '@tessera/proto-gen/directory';

/** What of a request its response depends on. */
interface Answered {
  readonly form: AuthorizationRequest;
  readonly issuer: string;
}

/** An error response (RFC 6749 §4.1.2.1, RFC 9207). */
export function errorResponse({ form, issuer }: Answered, error: OAuthError): ClientRedirect {
  const { redirectUri, responseMode, state, clientId } = form;
  return authorizationResponse(redirectUri, { outcome: { error }, responseMode, state, issuer, clientId });
}

/** The error response if the required person is not signed in, or not recently enough (OIDC Core §3.1.2.6). */
export function loginRequiredResponse(request: Answered): ClientRedirect {
  return errorResponse(request, new OAuthError('login_required', 'The person must sign in.'));
}

/** The error response if the person is known, but must be asked something else (OIDC Core §3.1.2.6). */
export function interactionRequiredResponse(request: Answered): ClientRedirect {
  const error = new OAuthError('interaction_required', 'The person must be asked something.');
  return errorResponse(request, error);
}

/** The error response if the person is known, but must be asked for their consent (OIDC Core §3.1.2.6). */
export function consentRequiredResponse(request: Answered): ClientRedirect {
  return errorResponse(request, new OAuthError('consent_required', 'The person must consent.'));
}

/** The error response if the person denied the request (RFC 6749 §4.1.2.1). */
export function declinedResponse(request: Answered): ClientRedirect {
  return errorResponse(request, new OAuthError('access_denied', 'The person denied the request.'));
}

/** The error response for a person whom the access policy excludes (RFC 6749 §4.1.2.1). */
export function accessDeniedResponse(request: Answered): ClientRedirect {
  const error = new OAuthError('access_denied', 'The person may not use this application.');
  return errorResponse(request, error);
}

/** Why the mode does not suit the client or its redirect URI, in a sentence; undefined if it does. */
export function responseModeProblem(
  { responseMode, redirectUri }: AuthorizationRequest,
  { application }: ApplicationRecord,
) {
  // The link chooses the mode. A server never sees a fragment, so its code would lie unused where scripts read it.
  if (responseMode === 'fragment' && application.type !== ApplicationType.PUBLIC)
    return 'response_mode=fragment is for public applications.';
  // Browsers lose the form's body when they hand a URI to an app.
  if (responseMode === 'form_post' && !/^https?:/i.test(redirectUri))
    return 'response_mode=form_post requires an http or https redirect URI.';
  return undefined;
}
