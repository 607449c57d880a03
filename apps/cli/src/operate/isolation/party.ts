import {
  calculatePKCECodeChallenge,
  clientCredentialsGrant,
  genericGrantRequest,
  initiateBackchannelAuthentication,
  initiateDeviceAuthorization,
  randomPKCECodeVerifier,
  tokenIntrospection,
  tokenRevocation,
} from 'openid-client';
import { endpointPaths, otherPaths, signingAlgorithmNames } from '@tessera/oauth';
import { endpointsOf, requestError } from '../../oauth/oauth-client.ts';
import { CommandError, type Terminal } from '../../terminal.ts';
import { Browser, type Page, type Place } from './browser.ts';
import type { ThrowAwayTenant } from './throw-away-tenants.ts';

/** A code and what is presented with it. */
interface Code {
  readonly code: string;
  readonly verifier: string;
  readonly redirectUri: string;
}

interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly idToken: string;
}

/** The clients and the person of a tenant. Their requests resolve with what was answered, refusals too. */
export type Party = ReturnType<typeof createParty>;

export function createParty(tenant: ThrowAwayTenant, place: Place, terminal: Terminal) {
  const client = (clientId: string, clientSecret: string | undefined) =>
    endpointsOf(metadataOf(place), { clientId, clientSecret }, terminal);
  const web = client(tenant.web, tenant.secret);
  const tv = client(tenant.tv, undefined);
  const desk = client(tenant.desk, tenant.secret);
  const scope = `openid offline_access ${tenant.sharedScope}`;
  const newBrowser = (): Browser => new Browser(place, terminal);
  const ownBrowser = newBrowser();

  async function authorize(
    browser: Browser,
    redirectUri = tenant.redirectUri,
  ): Promise<{ page: Page; verifier: string }> {
    const verifier = randomPKCECodeVerifier();
    const query = new URLSearchParams({
      client_id: tenant.web,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    return { page: await browser.open(`${endpointPaths.authorization}?${query.toString()}`), verifier };
  }

  /** Signs a person in for the application of this tenant. */
  async function signIn(
    browser: Browser,
    { username, password }: Pick<ThrowAwayTenant, 'username' | 'password'>,
  ): Promise<Page> {
    const { page } = await authorize(browser);
    return browser.submit(page, 'identifier', { identifier: username, password });
  }

  /** The person's browser, signed in. */
  async function person(): Promise<Browser> {
    const { page } = await authorize(ownBrowser);
    if (page.location === undefined) await signIn(ownBrowser, tenant);
    return ownBrowser;
  }

  async function newCode(): Promise<Code> {
    const { page, verifier } = await authorize(await person());
    const code = page.location?.searchParams.get('code');
    if (!code) throw new CommandError('the person of a throw-away tenant cannot sign in');
    return { code, verifier, redirectUri: tenant.redirectUri };
  }

  const redeem = ({ code, verifier, redirectUri }: Code) =>
    genericGrantRequest(web, 'authorization_code', {
      code,
      code_verifier: verifier,
      redirect_uri: redirectUri,
    });

  async function newTokens(): Promise<Tokens> {
    const tokens = await redeem(await newCode());
    const { access_token: accessToken, refresh_token: refreshToken = '', id_token: idToken = '' } = tokens;
    return { accessToken, refreshToken, idToken };
  }

  return {
    tenant,
    newBrowser,
    person,
    authorize,
    signIn,
    newCode,
    newTokens,
    redeem: (code: Code) => answered(redeem(code)),
    refresh: (token: string) => answered(genericGrantRequest(web, 'refresh_token', { refresh_token: token })),
    introspect: (token: string) =>
      answered(tokenIntrospection(web, token), ({ active, ...rest }) =>
        [active ? 'active' : 'inactive', ...Object.keys(rest)].join(' '),
      ),
    revoke: (token: string) => answered(tokenRevocation(web, token)),
    ownBehalf: (parameters: Record<string, string>, clientId = tenant.web) =>
      answered(clientCredentialsGrant(client(clientId, tenant.secret), parameters)),
    startDevice: () => initiateDeviceAuthorization(tv, { scope: 'openid' }),
    pollDevice: (code: string) =>
      answered(
        genericGrantRequest(tv, 'urn:ietf:params:oauth:grant-type:device_code', { device_code: code }),
      ),
    /** Asks a person, who sees the message. */
    startCiba: (loginHint: string, message: string) =>
      initiateBackchannelAuthentication(desk, {
        scope: 'openid',
        login_hint: loginHint,
        binding_message: message,
      }),
    pollCiba: (id: string) =>
      answered(genericGrantRequest(desk, 'urn:openid:params:grant-type:ciba', { auth_req_id: id })),
    async enterUserCode(code: string): Promise<Page> {
      const browser = await person();
      return browser.submit(await browser.open(otherPaths.device), 'user_code', { user_code: code });
    },
    approvals: async () => (await person()).open(`${otherPaths.approvals}?tenant=${tenant.id}`),
  };
}

const metadataOf = ({ issuer, address }: Place) => ({
  issuer,
  token_endpoint: address + endpointPaths.token,
  introspection_endpoint: address + endpointPaths.introspection,
  revocation_endpoint: address + endpointPaths.revocation,
  device_authorization_endpoint: address + endpointPaths.deviceAuthorization,
  backchannel_authentication_endpoint: address + endpointPaths.backchannelAuthentication,
  id_token_signing_alg_values_supported: [...signingAlgorithmNames],
});

/** What was answered, in words. A poll that comes too early is one that waits. */
async function answered<T>(
  request: Promise<T>,
  shown: (answer: T) => string = () => 'accepted',
): Promise<string> {
  try {
    return shown(await request);
  } catch (error) {
    const { code, message } = await requestError(error);
    return code === 'slow_down' || code === 'authorization_pending' ? 'pending' : message;
  }
}
