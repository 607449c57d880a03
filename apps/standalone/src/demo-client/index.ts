/**
 * Two sample clients: one sends the person to `/authorize` and exchanges the code over HTTP like any other client, the
 * other is a device without a keyboard. Both show the responses they received. They exist only with the demo tenant.
 */
import { Eta } from 'eta';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Clock, Random } from '@tessera/kit';
import { demoDevice } from './demo-device.ts';
import type { Mailbox } from './mailbox.ts';
import { pendingRequest, type PendingRequest } from './pending-request.ts';
import { Remembered } from './remembered.ts';

const demoClientId = 'demo-web';
const viewsDirectory = new URL('../../views/', import.meta.url);
const stateCookie = 'tessera_demo_state';
const scope = 'openid profile email phone offline_access orders.read';

export interface DemoClientDeps {
  /** URL of the server, without a trailing slash. */
  readonly issuer: () => string;
  readonly clock: Clock;
  readonly random: Random;
  /** Undefined if mail goes elsewhere. */
  readonly mailbox: Mailbox | undefined;
}

/** Adds `/demo/` and the pages below it to the gateway's listener. */
export function demoClient(deps: DemoClientDeps): (app: FastifyInstance) => void {
  const templates = new Eta({ views: fileURLToPath(viewsDirectory), autoEscape: true, cache: true });
  const style = readFileSync(new URL('demo.css', viewsDirectory), 'utf8');
  const pending = new Remembered<PendingRequest>(deps.clock, deps.random);
  const page = async (reply: FastifyReply, template: string, data: object): Promise<FastifyReply> =>
    reply.type('text/html; charset=utf-8').headers(pageHeaders).send(templates.render(template, data));
  const device = demoDevice({
    ...deps,
    page,
    received: async (reply, answer) =>
      page(reply, './demo-result', {
        ok: true,
        again: '/demo/device',
        sections: await sections(deps.issuer(), answer, answer['access_token'], answer['id_token']),
      }),
  });

  return (app) => {
    device(app);
    deps.mailbox?.pages(page)(app);
    app.get('/', async (_request, reply) => reply.redirect('/demo/', 302));
    app.get('/demo', async (_request, reply) => reply.redirect('/demo/', 302));
    app.get('/demo/', async (_request, reply) =>
      page(reply, './demo-start', { issuer: deps.issuer(), hasMailbox: deps.mailbox !== undefined }),
    );
    app.get('/demo/demo.css', async (_request, reply) => reply.type('text/css; charset=utf-8').send(style));
    app.get('/demo/sign-in', async (_request, reply) => {
      const request = pendingRequest(deps.random);
      const state = pending.keep(request);
      return reply
        .setCookie(stateCookie, state, {
          path: '/demo/',
          httpOnly: true,
          sameSite: 'lax',
          maxAge: 600,
        })
        .redirect(authorizationUrl(deps.issuer(), state, request), 302);
    });
    app.get(
      '/demo/callback',
      async (request: FastifyRequest<{ Querystring: Record<string, string> }>, reply) => {
        const { state = '', code, error, error_description: description } = request.query;
        const sent = request.cookies[stateCookie] === state ? pending.take(state) : undefined;
        void reply.clearCookie(stateCookie, { path: '/demo/' });
        if (sent === undefined)
          return page(reply.code(400), './demo-failed', {
            error: 'Unknown state',
            description: 'Start again.',
          });
        if (code === undefined) return page(reply, './demo-failed', { error, description });
        return page(reply, './demo-result', await results(deps.issuer(), code, sent));
      },
    );
  };
}

const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
};

function redirectUri(issuer: string): string {
  return `${issuer}/demo/callback`;
}

function authorizationUrl(issuer: string, state: string, request: PendingRequest): string {
  const query = new URLSearchParams({
    client_id: demoClientId,
    redirect_uri: redirectUri(issuer),
    response_type: 'code',
    scope,
    state,
    nonce: request.nonce,
    code_challenge: request.challenge,
    code_challenge_method: 'S256',
  });
  return `${issuer}/authorize?${query.toString()}`;
}

interface TokenData {
  readonly accessToken?: string;
  readonly idToken?: string;
}

/** Exchanges the code, calls userinfo, and prepares both responses for the page. */
async function results(issuer: string, code: string, sent: PendingRequest): Promise<object> {
  const exchanged = await postJson(`${issuer}/token`, {
    grantType: 'authorization_code',
    clientId: demoClientId,
    code,
    codeVerifier: sent.verifier,
    redirectUri: redirectUri(issuer),
  });
  const data = (exchanged['data'] ?? {}) as TokenData;
  return {
    ok: exchanged['isSuccess'] === true,
    nonceMatches: claims(data.idToken)?.['nonce'] === sent.nonce,
    again: '/demo/sign-in',
    logout: `/logout?${new URLSearchParams({ client_id: demoClientId }).toString()}`,
    sections: await sections(issuer, exchanged, data.accessToken, data.idToken),
  };
}

async function sections(
  issuer: string,
  answer: object,
  accessToken: unknown,
  idToken: unknown,
): Promise<{ title: string; json: string }[]> {
  const userInfo = typeof accessToken === 'string' ? await getUserInfo(issuer, accessToken) : undefined;
  return [
    { title: 'Answer of POST /token', json: pretty(answer) },
    { title: 'Claims of the access token', json: pretty(claims(accessToken)) },
    { title: 'Claims of the ID token', json: pretty(claims(idToken)) },
    { title: 'Answer of GET /userinfo', json: pretty(userInfo) },
  ];
}

async function postJson(url: string, body: object): Promise<Record<string, unknown>> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(5000),
  });
  return (await answer.json()) as Record<string, unknown>;
}

async function getUserInfo(issuer: string, accessToken: string): Promise<unknown> {
  const answer = await fetch(`${issuer}/userinfo`, {
    headers: { authorization: `Bearer ${accessToken}` },
    signal: AbortSignal.timeout(5000),
  });
  return answer.json();
}

function claims(token: unknown): Record<string, unknown> | undefined {
  const payload = typeof token === 'string' ? token.split('.')[1] : undefined;
  if (payload === undefined) return undefined;
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Record<string, unknown>;
}

function pretty(value: unknown): string {
  return value === undefined ? 'none' : JSON.stringify(value, null, 2);
}
