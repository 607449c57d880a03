import { OAuthError } from '../errors.ts';
import { assertionTypes, longestAssertion } from './client-assertion.ts';

/** The parameters in which clients authenticate, by the contract's names. */
export const clientParameters = [
  'clientId',
  'clientSecret',
  'clientAssertion',
  'clientAssertionType',
] as const;

/** What a request says of its client. */
export interface SentClient {
  /** The Authorization header. */
  readonly authorization: string | undefined;
  /** Of the body; undefined if it was not sent or is empty. */
  readonly parameter: (name: (typeof clientParameters)[number]) => string | undefined;
}

interface Credentials {
  /** '' for a client that only sends an assertion. */
  readonly clientId: string;
  /** '' for a client that sends none. */
  readonly clientSecret: string;
  readonly clientAssertion?: string;
  readonly clientAssertionType?: string;
}

/** A way in which a client identifies itself (RFC 6749 §2.3). */
interface Method {
  readonly name: string;
  /** Whether it proves who the client is. */
  readonly proves: boolean;
  /** Whether it is announced only where an application declares what it needs for it. */
  readonly declared?: true;
  readonly isUsed: (sent: SentClient) => boolean;
  /** Throws `invalid_request` or `invalid_client` if that cannot be read. */
  readonly read: (sent: SentClient) => Credentials;
}

/**
 * How clients authenticate, by the registered names (OIDC Core §9), in the order of the discovery documents. What reads
 * requests and what announces the methods reads this table; one that proves nothing comes last.
 */
export const clientAuthenticationMethods = [
  {
    name: 'client_secret_basic',
    proves: true,
    isUsed: ({ authorization }) => authorization !== undefined,
    read: ({ authorization = '' }) => readBasic(authorization),
  },
  {
    name: 'client_secret_post',
    proves: true,
    isUsed: ({ parameter }) => parameter('clientSecret') !== undefined,
    read: (sent) => ({
      clientId: requiredClientId(sent),
      clientSecret: sent.parameter('clientSecret') ?? '',
    }),
  },
  {
    name: 'private_key_jwt',
    proves: true,
    declared: true,
    isUsed: (sent) => hasAssertion(sent) && !isSpiffe(sent),
    read: readAssertionParameters,
  },
  {
    name: 'spiffe_jwt',
    proves: true,
    declared: true,
    isUsed: (sent) => isSpiffe(sent),
    read: readAssertionParameters,
  },
  {
    name: 'none',
    proves: false,
    isUsed: ({ parameter }) => parameter('clientId') !== undefined,
    read: (sent) => ({ clientId: requiredClientId(sent), clientSecret: '' }),
  },
] as const satisfies readonly Method[];

/** How a client identified itself and with which secret, as it was sent. */
export interface ClientAuthentication extends Credentials {
  readonly method: (typeof clientAuthenticationMethods)[number]['name'];
}

/**
 * Reads the authentication of a client (RFC 6749 §2.3.1); undefined if the request names none. Throws `invalid_request`
 * if it uses more than one way and `invalid_client` for a header that cannot be read.
 */
export function readClientAuthentication(sent: SentClient): ClientAuthentication | undefined {
  const [used, another] = clientAuthenticationMethods.filter((method) => method.isUsed(sent));
  if (used === undefined) return undefined;
  const client = { ...used.read(sent), method: used.name };
  if (another?.proves === true) {
    throw new OAuthError('invalid_request', 'The client used more than one way to authenticate.');
  }
  if (client.clientId !== '' && (sent.parameter('clientId') ?? client.clientId) !== client.clientId) {
    throw new OAuthError('invalid_request', 'The client identifiers of the header and the body differ.');
  }
  return client;
}

/** The error of a request that has to name its client and does not. */
export function missingClientId(): OAuthError {
  return new OAuthError('invalid_request', 'The client identifier is missing.');
}

function requiredClientId({ parameter }: SentClient): string {
  const clientId = parameter('clientId');
  if (clientId === undefined) throw missingClientId();
  return clientId;
}

function hasAssertion({ parameter }: SentClient): boolean {
  return parameter('clientAssertion') !== undefined || parameter('clientAssertionType') !== undefined;
}

function isSpiffe({ parameter }: SentClient): boolean {
  return parameter('clientAssertionType') === assertionTypes.spiffe_jwt;
}

/** RFC 7521 §4.2: `client_id` is optional, as the assertion says who the client is. */
function readAssertionParameters({ parameter }: SentClient): Credentials {
  const clientAssertion = parameter('clientAssertion') ?? '';
  const clientAssertionType = parameter('clientAssertionType') ?? '';
  const refused = (message: string) => new OAuthError('invalid_request', message);
  if (clientAssertion === '') throw refused('The client assertion is missing.');
  if (!Object.values<string>(assertionTypes).includes(clientAssertionType))
    throw refused('The type of the client assertion is missing or not supported.');
  if (clientAssertion.length > longestAssertion) throw refused('The client assertion is too long.');
  return { clientId: parameter('clientId') ?? '', clientSecret: '', clientAssertion, clientAssertionType };
}

function readBasic(authorization: string): Credentials {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization)?.[1];
  const text = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const clientId = decodeComponent(text.slice(0, Math.max(colon, 0)));
  const clientSecret = decodeComponent(text.slice(colon + 1));
  if (colon < 1 || clientId === undefined || clientId === '' || clientSecret === undefined) {
    throw new OAuthError('invalid_client', 'The Authorization header is not valid client authentication.');
  }
  return { clientId, clientSecret };
}

/** Each half is form-encoded before the two are joined (RFC 6749 §2.3.1). */
function decodeComponent(text: string): string | undefined {
  try {
    const decoded = decodeURIComponent(text.replaceAll('+', ' '));
    return decoded.isWellFormed() && !decoded.includes('\0') ? decoded : undefined;
  } catch {
    return undefined;
  }
}
