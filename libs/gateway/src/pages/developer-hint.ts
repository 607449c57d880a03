/**
 * What the developer of a client has to set if the authorization endpoint refuses its requests, by the contract's
 * message, which stays as it is. Services return nothing but code and message, and JSON has nothing but the contract's
 * members. People read a sentence of their own (`refusedForPeople`), and the hint in their language.
 */
const hints: Readonly<Record<string, string>> = {
  'Missing required OAuth parameters.':
    'The request must have client_id, redirect_uri, response_type=code and scope.',
  'Only response_type=code is supported.':
    'Set response_type to code: the authorization code flow. Implicit and hybrid flows are not offered.',
  'Missing PKCE parameters.':
    'Turn on PKCE with S256 in the client library, so that it sends code_challenge and code_challenge_method=S256. For a confidential application whose library has no PKCE, an administrator can declare pkce: optional.',
  'Only code_challenge_method=S256 is supported.': 'Set the PKCE method of the client library to S256.',
  'The client is not known.':
    'Compare client_id with the declared applications, and the issuer of the client with that of the tenant.',
  'The redirect_uri is not registered for this client.':
    'The redirect URI must equal one of the redirectUris of the application, to the port and the final slash.',
};

/** What people are told of a request for which there is a hint, as they can change nothing about it. */
export const refusedForPeople =
  'The application sent a sign-in request that cannot be used. Go back to the application and try again. If this happens again, tell the people who run it.';

/** The hint for the developer of the client; undefined for other errors. */
export function developerHint(message: string): string | undefined {
  return Object.hasOwn(hints, message) ? hints[message] : undefined;
}
