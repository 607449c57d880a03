import * as openid from 'openid-client';
import { builtInScopes } from '@tessera/oauth';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { issuerOf, issuerVariable } from '../../at-hand/issuer-at-hand.ts';
import { chosenContext } from '../../contexts/chosen-context.ts';
import { discover, endpointsOf, requestError, type Configuration } from '../../oauth/oauth-client.ts';
import { withService } from '../../operate/records/with-service.ts';
import { CommandError, type Terminal } from '../../terminal.ts';
import type { Entry } from '../files/imported.ts';
import { printable } from '../files/printable.ts';

const timeoutMs = 10_000;
/** How often a request is made that the server puts off, and how long it may put it off, in seconds. */
const mostTries = 5;
const longestPause = 120;

/** What an application needs for a try. */
export interface Tried {
  readonly clientId: string;
  readonly grantTypes: readonly string[];
  readonly redirectUri: string | undefined;
  readonly scopes: readonly string[];
  /** Undefined for a public application, and where only its digest is known. */
  readonly secret: string | undefined;
  readonly isPublic: boolean;
}

/**
 * Tries applications of a tenant as their programs would, until a person had to sign in: metadata, the authorization
 * request with the first redirect URI and a code challenge (RFC 7636), the token endpoint. Prints a line for each.
 * Resolves with whether all of them work. Throws CommandError if the issuer does not answer.
 */
export async function verifyApplications(
  applications: readonly Entry[],
  of: OfTenant,
  terminal: Terminal,
): Promise<boolean> {
  const { issuer, server, patient } = await reachIssuer(of, terminal);
  let failed = 0;
  for (const application of applications) {
    const tried = triedOf(application);
    const { clientId, secret: clientSecret } = tried;
    const config = endpointsOf(server, { clientId, clientSecret }, patient);
    const problems: string[] = [];
    const worked: string[] = [];
    for (const [what, attempt] of attemptsOf(tried)) {
      const problem = await attempt(config, tried, patient);
      if (problem === undefined) worked.push(what);
      else problems.push(`${what}: ${problem}`);
    }
    if (!tried.isPublic && clientSecret === undefined) worked.push('its secret is not known here');
    failed += problems.length > 0 ? 1 : 0;
    const line =
      problems.length > 0
        ? `not working: application ${clientId}: ${problems.join('; ')}`
        : `working: application ${clientId}: ${worked.join(', ')}`;
    terminal.out(`${printable(line)}\n`);
  }
  terminal.out(`Verified at ${issuer}: ${applications.length - failed} working, ${failed} not working\n`);
  if (applications.length === 0)
    terminal.say('Nothing was tried: no application of the import is enabled.\n');
  return failed === 0 && applications.length > 0;
}

/** A tenant, and its issuer if the command line says it. */
export interface OfTenant {
  readonly tenantId: string;
  readonly issuer?: string | undefined;
}

/** The endpoints of a tenant, and a terminal that waits as its server asks. Throws CommandError. */
export async function reachIssuer({ tenantId, issuer: given }: OfTenant, terminal: Terminal) {
  const issuer = given ?? (await issuerOfTenant(tenantId, terminal));
  const patient = { ...terminal, fetch: waitingFetch(terminal) };
  const found = await discover(issuer, { clientId: 'none', clientSecret: undefined }, patient);
  const { issuer: named, token_endpoint = '', authorization_endpoint, ...others } = found.serverMetadata();
  const device = others.device_authorization_endpoint;
  const server = {
    issuer: named,
    token_endpoint,
    ...(authorization_endpoint && { authorization_endpoint }),
    ...(device && { device_authorization_endpoint: device }),
  };
  return { issuer, server, patient };
}

export function triedOf(application: Entry): Tried {
  const of = application as {
    readonly clientId: string;
    readonly type: string;
    readonly grantTypes: readonly string[];
    readonly redirectUris?: readonly string[];
    readonly scopes?: readonly string[];
    readonly secrets?: readonly { readonly value: string }[];
  };
  return {
    clientId: of.clientId,
    grantTypes: of.grantTypes,
    redirectUri: of.redirectUris?.[0],
    scopes: of.scopes ?? [],
    secret: of.secrets?.[0]?.value,
    isPublic: of.type === 'public',
  };
}

/** Resolves with why it failed. */
type Attempt = (
  config: Configuration,
  tried: Tried,
  terminal: Pick<Terminal, 'fetch'>,
) => Promise<string | undefined>;

function attemptsOf({ grantTypes, secret, isPublic }: Tried): (readonly [what: string, attempt: Attempt])[] {
  const attempts: (readonly [string, Attempt])[] = [];
  const hasCodes = grantTypes.includes('authorization_code');
  if (hasCodes) attempts.push(['sign-in', askToSignIn]);
  if (!isPublic && secret === undefined) return attempts;
  if (grantTypes.includes('client_credentials')) attempts.push(['token of its own', askForOwnToken]);
  else if (hasCodes) attempts.push(['token endpoint', offerWrongCode]);
  if (grantTypes.includes('device_code') && !hasCodes) attempts.push(['device', beginDevice]);
  return attempts;
}

async function askToSignIn(
  config: Configuration,
  { clientId, redirectUri = '', scopes }: Tried,
  { fetch }: Pick<Terminal, 'fetch'>,
): Promise<string | undefined> {
  const endpoint = config.serverMetadata().authorization_endpoint;
  if (endpoint === undefined) return 'the metadata name no authorization endpoint';
  const url = new URL(endpoint);
  const parameters = {
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: scopes.includes('openid') ? 'openid' : (scopes[0] ?? ''),
    state: openid.randomState(),
    nonce: openid.randomNonce(),
    code_challenge: await openid.calculatePKCECodeChallenge(openid.randomPKCECodeVerifier()),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  const answer = await fetch(url, {
    redirect: 'manual',
    headers: { accept: 'text/html' },
    signal: AbortSignal.timeout(timeoutMs),
  });
  await answer.body?.cancel();
  if (answer.status === 200) return undefined;
  const location = answer.headers.get('location');
  if (location === null || answer.status >= 400) return `answered with status ${answer.status}`;
  const next = new URL(location, url);
  const error = next.searchParams.get('error');
  return next.origin === url.origin && error === null ? undefined : `answered with ${error ?? 'a redirect'}`;
}

async function askForOwnToken(config: Configuration, { scopes }: Tried): Promise<string | undefined> {
  const scope = scopes.find((each) => !builtInScopes.has(each));
  return failureOf(openid.clientCredentialsGrant(config, scope === undefined ? {} : { scope }));
}

/** A code that nobody got is refused as such (RFC 6749 §5.2) only after who asks has authenticated. */
async function offerWrongCode(
  config: Configuration,
  { redirectUri = '' }: Tried,
): Promise<string | undefined> {
  const request = openid.genericGrantRequest(config, 'authorization_code', {
    code: 'none',
    redirect_uri: redirectUri,
    code_verifier: openid.randomPKCECodeVerifier(),
  });
  return failureOf(request, 'invalid_grant');
}

async function beginDevice(config: Configuration, { scopes }: Tried): Promise<string | undefined> {
  return failureOf(openid.initiateDeviceAuthorization(config, { scope: scopes.join(' ') }));
}

/** @param expected the error that is right */
async function failureOf(request: Promise<unknown>, expected?: string): Promise<string | undefined> {
  try {
    await request;
    return expected === undefined ? undefined : `answered without ${expected}`;
  } catch (error) {
    const { code, message } = await requestError(error);
    return expected !== undefined && code === expected ? undefined : message.replace(/\.$/, '');
  }
}

/** A fetch that waits as a server asks it to which has had too many requests (RFC 6585 §4). */
function waitingFetch({ fetch, sleep }: Pick<Terminal, 'fetch' | 'sleep'>): Terminal['fetch'] {
  return async (input, init) => {
    for (let tries = 1; ; tries += 1) {
      const answer = await fetch(input, init).catch(() => {
        const url = input instanceof Request ? input.url : String(input);
        throw new CommandError(`${new URL(url).origin} does not answer.`);
      });
      const pause = Number(answer.headers.get('retry-after') ?? Number.NaN);
      if (answer.status !== 429 || tries === mostTries || !(pause <= longestPause)) return answer;
      await answer.body?.cancel();
      await sleep(pause * 1000);
    }
  };
}

/** Its own, or the shared one. Throws CommandError if nobody says that. */
async function issuerOfTenant(tenantId: string, terminal: Terminal): Promise<string> {
  const { issuer } = await withService('directory', terminal, {
    name: 'Asking for the issuer',
    changes: false,
    timeoutMs,
    run: async (clientOf, call) => clientOf(TenantsService).get({ tenantId }, call),
  });
  if (issuer !== '') return issuer;
  const context = terminal.environment[issuerVariable] ? undefined : await chosenContext(terminal);
  if (context === undefined) return issuerOf({}, terminal);
  if (context.tenant === undefined) return context.issuer;
  throw new CommandError(`The context ${context.name} does not know the shared issuer. Give --issuer.`, 2);
}
