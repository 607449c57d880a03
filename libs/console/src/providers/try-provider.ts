import { systemClock, type Secret } from '@tessera/kit';
import { createFetch, createPlaces } from '@tessera/outbound';

/** What was tried at a provider, as a sentence with its values, and whether it is as it should be. */
export interface Finding {
  readonly isGood: boolean;
  /** The input of a form that it is about. */
  readonly input: 'issuer' | 'clientId';
  readonly sentence: string;
  readonly values: Readonly<Record<string, string | number>>;
}

interface TriedProvider {
  readonly issuer: string;
  readonly clientId: string;
  /** Where people come back to. */
  readonly redirectUri: string;
  /** Absent: it is not tried. */
  readonly clientSecret?: Secret | undefined;
}

export type TryProvider = (provider: TriedProvider) => Promise<readonly Finding[]>;

const timeoutMs = 5_000;
const longestBytes = 512 * 1024;
/** A code that no provider gave out. */
const noCode = 'a-code-that-was-never-issued';

/**
 * Asks a provider what a sign-in would ask it, as far as no person is needed for that: metadata, keys, the request with
 * our redirect URI, and a code that it must refuse for the code's sake. It stops where the next question makes no
 * sense.
 * @param allowPrivate whether providers may be at addresses that are not public, and without TLS
 */
export function createTryProvider(allowPrivate: boolean): TryProvider {
  const places = createPlaces(systemClock);
  const fetch = createFetch({ places, allowPrivate, timeoutMs, longestBytes });
  const ask = async (url: string, init?: Parameters<typeof fetch>[1]): Promise<Response> =>
    places.hold({ server: URL.parse(url)?.host, address: 'console' }, async () => fetch(url, init));
  return async (provider) => {
    const findings: Finding[] = [];
    const note = (
      isGood: boolean,
      input: Finding['input'],
      sentence: string,
      values: Finding['values'] = {},
    ) => {
      findings.push({ isGood, input, sentence, values });
      return isGood;
    };
    await tryAll(provider, ask, note).catch((error: unknown) => {
      note(false, 'issuer', 'The provider does not answer: {why}', { why: whyNot(error) });
    });
    return findings;
  };
}

type Ask = (
  url: string,
  init?: { method?: string; headers?: Record<string, string>; body?: string },
) => Promise<Response>;
type Note = (
  isGood: boolean,
  input: Finding['input'],
  sentence: string,
  values?: Finding['values'],
) => boolean;

async function tryAll({ issuer, clientId, redirectUri, clientSecret }: TriedProvider, ask: Ask, note: Note) {
  const metadata = await metadataOf(issuer, ask, note);
  if (metadata === undefined) return;
  if (!(await hasKeys(String(metadata['jwks_uri']), ask, note))) return;
  await tryRequest(String(metadata['authorization_endpoint']), { clientId, redirectUri }, ask, note);
  if (clientSecret !== undefined)
    await tryClient(metadata, { clientId, redirectUri, clientSecret }, ask, note);
}

/** OIDC Discovery §4. */
async function metadataOf(issuer: string, ask: Ask, note: Note) {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const answer = await ask(url);
  if (answer.status !== 200) {
    note(false, 'issuer', 'There are no metadata at {url} (status {status}). Check the issuer.', {
      url,
      status: answer.status,
    });
    return undefined;
  }
  const metadata = await jsonOf(answer);
  if (metadata === undefined) {
    note(false, 'issuer', 'There is no OpenID provider at {url}. Check the issuer.', { url });
    return undefined;
  }
  const named = String(metadata['issuer']);
  if (named !== issuer) {
    note(false, 'issuer', "The provider's own issuer is {named}. Enter exactly that.", { named });
    return undefined;
  }
  for (const endpoint of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'])
    if (URL.parse(String(metadata[endpoint])) === null) {
      note(false, 'issuer', 'The metadata have no {endpoint}. Nobody can sign in without it.', { endpoint });
      return undefined;
    }
  note(true, 'issuer', 'The metadata can be read and name this issuer.');
  return metadata;
}

async function hasKeys(url: string, ask: Ask, note: Note): Promise<boolean> {
  const { keys } = (await jsonOf(await ask(url))) ?? {};
  return Array.isArray(keys) && keys.length > 0
    ? note(true, 'issuer', 'The keys can be read.')
    : note(false, 'issuer', 'The keys at {url} cannot be read.', { url });
}

/** What a browser would ask (OIDC Core §3.1.2.1). A provider answers an unknown redirect URI itself. */
async function tryRequest(
  endpoint: string,
  { clientId, redirectUri }: Pick<TriedProvider, 'clientId' | 'redirectUri'>,
  ask: Ask,
  note: Note,
): Promise<void> {
  const url = new URL(endpoint);
  const parameters = {
    response_type: 'code',
    scope: 'openid',
    client_id: clientId,
    redirect_uri: redirectUri,
  };
  for (const [name, value] of Object.entries({ ...parameters, state: 'test', nonce: 'test' }))
    url.searchParams.set(name, value);
  // RFC 7636 appendix B.
  url.searchParams.set('code_challenge', 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM');
  url.searchParams.set('code_challenge_method', 'S256');
  const { status } = await ask(url.href, { headers: { accept: 'text/html' } });
  if (status < 400) note(true, 'clientId', 'The provider accepts the client ID with our redirect URI.');
  else
    note(
      false,
      'clientId',
      'The provider refuses this client ID with our redirect URI (status {status}). Register {redirectUri} there and check the client ID.',
      { status, redirectUri },
    );
}

/** A client that is known gets its code refused, an unknown one itself (RFC 6749 §5.2). */
async function tryClient(
  metadata: Readonly<Record<string, unknown>>,
  {
    clientId,
    redirectUri,
    clientSecret,
  }: Required<Pick<TriedProvider, 'clientId' | 'redirectUri'>> & {
    readonly clientSecret: Secret;
  },
  ask: Ask,
  note: Note,
): Promise<void> {
  const methods = metadata['token_endpoint_auth_methods_supported'];
  const isBasic = !Array.isArray(methods) || methods.includes('client_secret_basic');
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code: noCode,
    redirect_uri: redirectUri,
    code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
    ...(!isBasic && { client_id: clientId, client_secret: clientSecret.reveal() }),
  });
  const pair = [clientId, clientSecret.reveal()].map(encodeURIComponent).join(':');
  const answer = await ask(String(metadata['token_endpoint']), {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(isBasic && { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }),
    },
    body: body.toString(),
  });
  const error = (await jsonOf(answer))?.['error'];
  if (answer.status === 401 || error === 'invalid_client' || error === 'unauthorized_client')
    note(false, 'clientId', 'The provider rejects this client ID and secret. Check both.');
  else note(true, 'clientId', 'The provider accepts the client ID and the secret.');
}

async function jsonOf(answer: Response): Promise<Readonly<Record<string, unknown>> | undefined> {
  const value: unknown = await answer.json().catch(() => undefined);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}

/** What an administrator can do something about. */
function whyNot(error: unknown): string {
  const { message, code } = error as Error & { readonly code?: string };
  return [code, message].filter(Boolean).join(' ').slice(0, 200);
}
