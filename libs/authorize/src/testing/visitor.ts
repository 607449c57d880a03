import { expect } from 'vitest';
import type { Interaction, Next, NewSession, Redirect } from '@tessera/proto-gen/authorize';
import { OwnPage_Name } from '@tessera/proto-gen/authorize';
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
  start(difference?: Record<string, string | undefined>): Promise<{ readonly next: Started }>;
  /** Starts a request and returns the identifier of the sign-in page. */
  interaction(difference?: Record<string, string | undefined>): Promise<string>;
  /** Starts a request and returns the parameters of the redirect to the client. */
  redirect(difference?: Record<string, string | undefined>): Promise<URLSearchParams>;
  submit(interactionId: string, fields?: Partial<Fields>): Promise<{ readonly outcome: Outcome }>;
  /** From the request to the code; keeps the session. */
  signIn(difference?: Record<string, string | undefined>, fields?: Partial<Fields>): Promise<string>;
}

/** How a visit began. */
export type Started =
  | { readonly case: 'redirect'; readonly value: Redirect }
  | { readonly case: 'interaction'; readonly value: Interaction }
  | { readonly case: 'tenantMismatch'; readonly value: { readonly interaction?: Interaction | undefined } };

/** What became of the form of the step `password`. */
type Outcome =
  | {
      readonly case: 'signedIn';
      readonly value: { readonly session: NewSession; readonly redirect: Redirect };
    }
  | {
      readonly case: 'wrongCredentials' | 'tenantMismatch';
      readonly value: { readonly interaction?: Interaction | undefined };
    }
  | { readonly case: 'redirect'; readonly value: Redirect };

export interface BrowserInit {
  readonly browserId: string;
  readonly sessionToken: string;
  readonly knownBrowserToken: string;
  readonly ipAddress: string;
  readonly userAgentHash: string;
  readonly userAgent: string;
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
      userAgent: 'Agent/1.0',
      issuer,
    }),
    start: (difference) => begin(world, self.context(), { parameters: request(difference) }),
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
    async submit(interactionId, fields = {}) {
      const { next, session } = await world.gateway.continue({
        browser: self.context(),
        visit: { case: 'interactionId', value: interactionId },
        step: 'password',
        fields: { identifier: 'ada', password, ...fields },
      });
      return { outcome: outcomeOf(next, session) };
    },
    async signIn(difference, fields) {
      const { outcome } = await self.submit(await self.interaction(difference), fields);
      if (outcome.case !== 'signedIn') throw new Error(`not signed in but ${outcome.case}`);
      const { session, redirect } = outcome.value;
      self.sessionToken = session.sessionToken;
      self.knownBrowserToken = session.knownBrowser?.token ?? '';
      const code = codeOf(redirect.location);
      for (const value of [self.sessionToken, self.knownBrowserToken, code, self.browserId])
        world.secrets.add(value);
      return code;
    },
  };
  return self;
}

/** Begins with an authorization request. */
export async function begin(
  world: World,
  browser: BrowserInit,
  asked: {
    readonly parameters: Record<string, string>;
    readonly hintedUserId?: string;
    readonly idTokenHintIsInvalid?: boolean;
  },
): Promise<{ next: Started }> {
  const answer = await world.gateway.begin({ browser, visit: { case: 'request', value: asked } });
  const next = answer.next?.next;
  switch (next?.case) {
    case 'redirect':
      return { next };
    case 'tenantMismatch':
      return { next };
    case 'step':
      return { next: { case: 'interaction', value: interactionOf(next.value) } };
    default:
      throw new Error(`${next?.case} answers an authorization request`);
  }
}

function outcomeOf(answer: Next | undefined, session: NewSession | undefined): Outcome {
  const next = answer?.next;
  switch (next?.case) {
    case 'redirect':
      if (session === undefined) return next;
      return { case: 'signedIn', value: { session, redirect: next.value } };
    case 'tenantMismatch':
      return next;
    case 'step':
      expect(next.value).toMatchObject({ name: 'password', problem: 'wrong_credentials' });
      return { case: 'wrongCredentials', value: { interaction: interactionOf(next.value) } };
    default:
      throw new Error(`${next?.case} answers the sign-in of an authorization request`);
  }
}

function interactionOf({ interaction }: { readonly interaction?: Interaction | undefined }): Interaction {
  if (interaction === undefined) throw new Error('the step describes no visit');
  return interaction;
}

/** Sends the first form of `/device`. */
export async function signInAtPage(
  world: World,
  attempt: Fields & { readonly browser: BrowserInit; readonly tenantId: string },
): Promise<{ readonly session: NewSession | undefined; readonly tenantMismatch: boolean }> {
  const { browser, tenantId, ...fields } = attempt;
  const page = { name: OwnPage_Name.DEVICE, tenantId };
  const visit = { case: 'page', value: page } as const;
  const { next, session } = await world.gateway.continue({ browser, visit, step: 'password', fields });
  const isDone = next?.next.case === 'done';
  if (isDone !== (session !== undefined)) throw new Error(`a session with ${next?.next.case}`);
  return { session, tenantMismatch: next?.next.case === 'tenantMismatch' };
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
