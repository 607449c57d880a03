/** What a protected resource says about itself (RFC 9728 §2). */
export interface ProtectedResource {
  /** Its identifier, an https URL without query and fragment: the audience of its access tokens. */
  readonly resource: string;
  /** The issuer, or all of them, whose access tokens it takes. */
  readonly issuer: string | readonly string[];
  /** Scopes that clients may ask for; default: it does not say. */
  readonly scopes?: readonly string[];
  /** For people. */
  readonly name?: string;
  readonly documentation?: string;
}

/** A document to be served, without authentication, as `application/json`. */
export interface ResourceMetadata {
  /** Its address; clients find it in the challenge of a refusal. */
  readonly url: string;
  /** The path of that address. */
  readonly path: string;
  readonly document: Readonly<Record<string, unknown>>;
}

const wellKnown = '/.well-known/oauth-protected-resource';

/**
 * The metadata of a protected resource (RFC 9728 §3.1): clients that know nothing but its address learn where to get an
 * access token. Throws TypeError if the identifier cannot have any.
 */
export function resourceMetadata({
  resource,
  issuer,
  scopes,
  name,
  documentation,
}: ProtectedResource): ResourceMetadata {
  // Node 20 has no URL.parse.
  const address = URL.canParse(resource) ? new URL(resource) : undefined;
  const isLoopback = ['localhost', '127.0.0.1', '[::1]'].includes(address?.hostname ?? '');
  const isPlain = address?.protocol === 'http:' && isLoopback;
  if (address === undefined || (address.protocol !== 'https:' && !isPlain) || /[?#]/.test(resource))
    throw new TypeError(`The resource ${resource} must be an https URL without query and fragment.`);
  const path = wellKnown + address.pathname.replace(/\/$/, '');
  return {
    url: address.origin + path,
    path,
    document: {
      resource,
      authorization_servers: [issuer].flat(),
      bearer_methods_supported: ['header'],
      ...(scopes !== undefined && { scopes_supported: scopes }),
      ...(name !== undefined && { resource_name: name }),
      ...(documentation !== undefined && { resource_documentation: documentation }),
    },
  };
}
