import { newBrowserId, issuer, password, request, verifier, web } from './world.ts';
import type { World } from './world.ts';

/** A person with a browser: it keeps the cookies that the gateway would set. */
export interface Person {
  browserId: string;
  sessionToken: string;
  knownBrowserToken: string;
  ipAddress: string;
  /** The browser as the gateway describes it. */
  context(): BrowserInit;
  start(difference?: Record<string, string | undefined>): ReturnType<World['gateway']['beginAuthorization']>;
  /** Starts a request and returns the identifier of the sign-in page. */
  interaction(difference?: Record<string, string | undefined>): Promise<string>;
  /** Starts a request and returns the parameters of the redirect to the client. */
  redirect(difference?: Record<string, string | undefined>): Promise<URLSearchParams>;
  submit(interactionId: string, fields?: Partial<Fields>): ReturnType<World['gateway']['signIn']>;
  /** From the request to the code; keeps the session. */
  signIn(difference?: Record<string, string | undefined>, fields?: Partial<Fields>): Promise<string>;
}

interface BrowserInit {
  readonly browserId: string;
  readonly sessionToken: string;
  readonly knownBrowserToken: string;
  readonly ipAddress: string;
  readonly userAgentHash: string;
  readonly issuer: string;
}

interface Fields {
  readonly identifier: string;
  readonly password: string;
}

let addresses = 0;

/** A new browser with its own address, so that tests do not share limits. */
export function newPerson(world: World): Person {
  addresses += 1;
  const self: Person = {
    browserId: newBrowserId(),
    sessionToken: '',
    knownBrowserToken: '',
    ipAddress: `198.51.${addresses >> 8}.${addresses & 255}`,
    context: () => ({
      browserId: self.browserId,
      sessionToken: self.sessionToken,
      knownBrowserToken: self.knownBrowserToken,
      ipAddress: self.ipAddress,
      userAgentHash: 'agent',
      issuer,
    }),
    start: (difference) =>
      world.gateway.beginAuthorization({ browser: self.context(), parameters: request(difference) }),
    async interaction(difference) {
      const { next } = await self.start(difference);
      if (next.case !== 'interaction') throw new Error(`no sign-in page but ${next.case}`);
      return next.value.interactionId;
    },
    async redirect(difference) {
      const { next } = await self.start(difference);
      if (next.case !== 'redirect') throw new Error(`no redirect but ${next.case}`);
      return new URL(next.value.location).searchParams;
    },
    submit: (interactionId, fields = {}) =>
      world.gateway.signIn({
        browser: self.context(),
        interactionId,
        identifier: 'ada',
        password,
        ...fields,
      }),
    async signIn(difference, fields) {
      const { outcome } = await self.submit(await self.interaction(difference), fields);
      if (outcome.case !== 'signedIn') throw new Error(`not signed in but ${outcome.case}`);
      const { session, redirect } = outcome.value;
      self.sessionToken = session?.sessionToken ?? '';
      self.knownBrowserToken = session?.knownBrowser?.token ?? '';
      const code = codeOf(redirect?.location);
      for (const value of [self.sessionToken, self.knownBrowserToken, code, self.browserId])
        world.secrets.add(value);
      return code;
    },
  };
  return self;
}

export function codeOf(location: string | undefined): string {
  const code = new URL(location ?? '').searchParams.get('code');
  if (code === null) throw new Error('the location has no code');
  return code;
}

/** What `token` asks for a code of `acme-web`. */
export function redemption(code: string, difference: Partial<Redemption> = {}): Redemption {
  return {
    code,
    clientId: web.clientId,
    tenantId: 'acme',
    redirectUri: web.redirectUri,
    codeVerifier: verifier,
    confidential: false,
    ipAddress: '203.0.113.9',
    ...difference,
  };
}

interface Redemption {
  readonly code: string;
  readonly clientId: string;
  readonly tenantId: string;
  readonly redirectUri: string;
  readonly codeVerifier: string;
  readonly confidential: boolean;
  readonly ipAddress: string;
}
