import { systemRandom } from '@tessera/kit';
import { endpointPaths } from '@tessera/oauth';
import { summaryOf, type Browser, type Page } from './browser.ts';
import type { Party } from './party.ts';

/** A value of one tenant in the hands of another. */
export interface Crossing {
  /** What is refused. */
  readonly sentence: string;
  attempt(): Promise<Attempt>;
}

/** What was answered, in words. Good: the crossing is answered as an unknown value is, and the owner otherwise. */
interface Attempt {
  readonly unknown: string;
  readonly crossed: string;
  /** The control, with the same value and after the crossing: it took nothing from its owner. */
  readonly own: string;
}

interface Steps<T> {
  /** A value of the first tenant. */
  value(): Promise<T>;
  /** A value of the same kind that nobody was given. */
  random(value: T): T;
  /** The other tenant tries one of the two. */
  other(asked: T, value: T): Promise<string>;
  own(value: T): Promise<string>;
}

function crossing<T>(sentence: string, { value: make, random, other, own }: Steps<T>): Crossing {
  return {
    sentence,
    async attempt() {
      const value = await make();
      const answerTo = async (asked: T): Promise<string> => {
        const answer = await other(asked, value);
        return typeof asked === 'string' ? answer.replaceAll(asked, '…') : answer;
      };
      const unknown = await answerTo(random(value));
      return { unknown, crossed: await answerTo(value), own: await own(value) };
    },
  };
}

/** All crossings, with values of `a` in the hands of `b`. */
export function crossingsOf(a: Party, b: Party): readonly Crossing[] {
  return [...ofGrants(a, b), ...ofTokens(a, b), ...ofClients(a, b), ...ofPeople(a, b), ...ofDecisions(a, b)];
}

function ofGrants(a: Party, b: Party): Crossing[] {
  const waiting = once(() => a.startCiba(a.tenant.username, message()));
  return [
    crossing('a code is redeemed by another tenant’s client', {
      value: a.newCode,
      random: (value) => ({ ...value, code: randomLike(value.code) }),
      other: b.redeem,
      own: a.redeem,
    }),
    crossing('a refresh token is used by another tenant’s client', {
      value: async () => (await a.newTokens()).refreshToken,
      random: randomLike,
      other: b.refresh,
      own: a.refresh,
    }),
    crossing('a device code is polled by another tenant’s client', {
      value: async () => (await a.startDevice()).device_code,
      random: randomLike,
      other: b.pollDevice,
      own: a.pollDevice,
    }),
    crossing('an auth_req_id is polled by another tenant’s client', {
      value: async () => (await waiting()).auth_req_id,
      random: randomLike,
      other: b.pollCiba,
      own: a.pollCiba,
    }),
  ];
}

function ofTokens(a: Party, b: Party): Crossing[] {
  const tokens = once(a.newTokens);
  const accessToken = async () => (await tokens()).accessToken;
  const refreshToken = async () => (await tokens()).refreshToken;
  const introspected = { random: randomLike, other: b.introspect, own: a.introspect };
  return [
    crossing('an access token is introspected by another tenant’s client', {
      value: accessToken,
      ...introspected,
    }),
    crossing('a refresh token is introspected by another tenant’s client', {
      value: refreshToken,
      ...introspected,
    }),
    crossing('an access token is recognized when another tenant’s client revokes it', {
      value: accessToken,
      random: randomLike,
      other: b.revoke,
      own: a.revoke,
    }),
    crossing('a refresh token is revoked by another tenant’s client', {
      value: refreshToken,
      random: randomLike,
      other: async (asked, value) => `${await b.revoke(asked)}, ${await a.introspect(value)}`,
      own: async (value) => `${await a.revoke(value)}, ${await a.introspect(value)}`,
    }),
  ];
}

function ofClients(a: Party, b: Party): Crossing[] {
  return [
    crossing('a client signs in with the secret of another tenant’s client', {
      value: async () => a.tenant.web,
      random: randomLike,
      other: (asked) => b.ownBehalf({ scope: a.tenant.scope }, asked),
      own: (value) => a.ownBehalf({ scope: a.tenant.scope }, value),
    }),
    crossing('a scope is given to another tenant’s client', {
      value: async () => a.tenant.scope,
      random: randomLike,
      other: (scope) => b.ownBehalf({ scope }),
      own: (scope) => a.ownBehalf({ scope }),
    }),
    crossing('a resource is given to another tenant’s client', {
      value: async () => a.tenant.audience,
      random: randomLike,
      other: (resource) => b.ownBehalf({ resource }),
      own: (resource) => a.ownBehalf({ resource }),
    }),
    crossing('a redirect URI is used by another tenant’s client', {
      value: async () => a.tenant.redirectUri,
      random: randomLike,
      other: async (uri) => summaryOf((await b.authorize(b.newBrowser(), uri)).page),
      own: async (uri) => summaryOf((await a.authorize(a.newBrowser(), uri)).page),
    }),
  ];
}

function ofPeople(a: Party, b: Party): Crossing[] {
  const idToken = async () => (await a.newTokens()).idToken;
  const signedOut = async (party: Party, parameters: Record<string, string>): Promise<Page> =>
    party.newBrowser().open(`${endpointPaths.endSession}?${new URLSearchParams(parameters).toString()}`);
  const arrives = ({ location }: Page, uri: string): string =>
    location?.href.startsWith(uri) ? 'sent' : 'not sent';
  return [
    crossing('a session gets a code of another tenant’s client', {
      value: a.person,
      random: a.newBrowser,
      other: async (browser) => givenCode((await b.authorize(browser)).page),
      own: async (browser) => givenCode((await a.authorize(browser)).page),
    }),
    crossing('a person signs in at another tenant', {
      value: async () => a.tenant.username,
      random: randomLike,
      other: async (username) =>
        summaryOf(await b.signIn(b.newBrowser(), { username, password: a.tenant.password })),
      own: async (username) =>
        summaryOf(await a.signIn(a.newBrowser(), { username, password: a.tenant.password })),
    }),
    crossing('an ID token speaks for another tenant’s client at /logout', {
      value: idToken,
      random: randomLike,
      other: async (hint) => summaryOf(await signedOut(b, { id_token_hint: hint, client_id: b.tenant.web })),
      own: async (hint) => summaryOf(await signedOut(a, { id_token_hint: hint })),
    }),
    crossing('an ID token leads to an address of another tenant after /logout', {
      value: idToken,
      random: randomLike,
      other: async (hint) => {
        const uri = b.tenant.loggedOutUri;
        return arrives(await signedOut(b, { id_token_hint: hint, post_logout_redirect_uri: uri }), uri);
      },
      own: async (hint) => {
        const uri = a.tenant.loggedOutUri;
        return arrives(await signedOut(a, { id_token_hint: hint, post_logout_redirect_uri: uri }), uri);
      },
    }),
  ];
}

function ofDecisions(a: Party, b: Party): Crossing[] {
  const text = once(async () => message());
  const waiting = once(async () => a.startCiba(a.tenant.username, await text()));
  return [
    crossing('a user code is opened by another tenant’s person', {
      value: async () => (await a.startDevice()).user_code,
      random: randomUserCode,
      other: async (code) => summaryOf(await b.enterUserCode(code)),
      own: async (code) => summaryOf(await a.enterUserCode(code)),
    }),
    crossing('a device is approved by another tenant’s person', {
      async value() {
        const { device_code: deviceCode, user_code: userCode } = await a.startDevice();
        return { deviceCode, request: requestIn(await a.enterUserCode(userCode)) };
      },
      random: (value) => ({ ...value, request: randomLike(value.request) }),
      other: async ({ request }, { deviceCode }) => {
        const page = await approveAs(b, '/device', request);
        return `${summaryOf(page)}, ${await a.pollDevice(deviceCode)}`;
      },
      own: async ({ request, deviceCode }) => {
        const page = await approveAs(a, '/device', request);
        return `${summaryOf(page)}, ${await a.pollDevice(deviceCode)}`;
      },
    }),
    crossing('a person is asked by another tenant’s client', {
      value: async () => a.tenant.username,
      random: randomLike,
      other: async (hint) => {
        const shown = message();
        await b.startCiba(hint, shown);
        return isShown(await a.approvals(), shown);
      },
      async own() {
        await waiting();
        return isShown(await a.approvals(), await text());
      },
    }),
    crossing('a request is shown to another tenant’s person at /approvals', {
      async value() {
        await waiting();
        return text();
      },
      random: message,
      other: async (shown) => isShown(await b.approvals(), shown),
      own: async (shown) => isShown(await a.approvals(), shown),
    }),
    crossing('a request is approved by another tenant’s person at /approvals', {
      async value() {
        const { auth_req_id: id } = await waiting();
        return { id, request: requestIn(await a.approvals(), await text()) };
      },
      random: (value) => ({ ...value, request: randomLike(value.request) }),
      other: async ({ request }, { id }) =>
        `${summaryOf(await approveAs(b, '/approvals', request))}, ${await a.pollCiba(id)}`,
      own: async ({ request, id }) =>
        `${summaryOf(await approveAs(a, '/approvals', request))}, ${await a.pollCiba(id)}`,
    }),
  ];
}

const approveAs = async (party: Party, path: '/device' | '/approvals', request: string): Promise<Page> => {
  const browser: Browser = await party.person();
  return browser.approve(path, request);
};

const givenCode = ({ location }: Page): string => (location?.searchParams.has('code') ? 'a code' : 'no code');
const isShown = ({ text }: Page, shown: string): string => (text.includes(shown) ? 'shown' : 'not shown');

/** The request that a page asks about; of several the one with this text. */
function requestIn({ forms, text }: Page, near = ''): string {
  const from = text.slice(0, text.indexOf(near)).lastIndexOf('<li id="request-');
  const listed = /^<li id="request-([^"]+)"/.exec(text.slice(Math.max(from, 0)))?.[1];
  return listed ?? forms.map(({ fields }) => fields['request']).find((id) => id !== undefined) ?? '';
}

/** A short text that nobody else has. */
const message = (): string => `Smoke ${systemRandom.bytes(6).toString('hex')}`;

/** A value of the same shape. A prefix such as `tc_` stays, and what structures a token or a URL. */
function randomLike(value: string): string {
  const prefix = /^(t\w_|https:\/\/)?/.exec(value)?.[0] ?? '';
  const rest = value.slice(prefix.length);
  const bytes = systemRandom.bytes(rest.length);
  const characters = [...rest].map((character, at) =>
    /[a-z\d]/i.test(character) ? 'abcdefghijklmnopqrstuvwxyz'[(bytes[at] ?? 0) % 26] : character,
  );
  return prefix + characters.join('');
}

/** Of the letters that user codes have (RFC 8628 §6.1). */
function randomUserCode(code: string): string {
  const bytes = systemRandom.bytes(code.length);
  const letters = 'BCDFGHJKLMNPQRSTVWXZ';
  return [...code].map((each, at) => (each === '-' ? each : letters[(bytes[at] ?? 0) % 20])).join('');
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
