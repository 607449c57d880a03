import fastifyAccepts from '@fastify/accepts';
import fastifyCookie from '@fastify/cookie';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { systemClock, systemRandom, ulid } from '@tessera/kit';
import { loadLanguages } from '@tessera/languages';
import { consolePaths, OAuthError } from '@tessera/oauth';
import {
  bodyLimit,
  languageOf,
  loadTemplates,
  methodsOfPages,
  sendHtmlOf,
  withParameters,
  type Page,
  type PageMethod,
} from '@tessera/pages';
import { declaredAccess, rootCall, type ByToken, type DescMethod } from '@tessera/rpc';
import type { Logger } from '@tessera/telemetry';
import { fileURLToPath } from 'node:url';
import { navigationOf } from './navigation.ts';
import { pagesOf, pageTable } from './console-page-table.ts';
import { isSignedOut, troubleOf } from './shown-refusals.ts';
import { createSessions, type Sessions } from './console-sessions.ts';
import { createSignIn, type SignInDeps } from './console-sign-in.ts';
import { isFresh } from './admission/fresh.ts';
import { isSignedInThere } from './admission/signed-in-there.ts';
import type { TryProvider } from './providers/try-provider.ts';
import { goTo, here, param, type Visit, type Who } from './console-visit.ts';

export interface ConsoleDeps extends Pick<SignInDeps, 'directory' | 'proof' | 'issuer' | 'operatorTenant'> {
  /** Its address; one without a port is of this machine, at the port of the listener. */
  readonly url: string;
  readonly byToken: ByToken;
  readonly messagesDirectory: string | undefined;
  readonly tryProvider: TryProvider;
  /** Whether the person of a visit is still signed in at the issuer. */
  readonly isSignedIn?: (visit: Visit) => Promise<boolean>;
  readonly log: Logger;
}

const views = fileURLToPath(new URL('../views/', import.meta.url));
const callTimeoutMs = 10_000;
const cookieName = 'tessera_console';
const cookiePattern = /^tw_[\w-]{43}$/;

/** Adds the pages of the console to a listener. */
export function consolePages(
  deps: ConsoleDeps,
  sessions: Sessions = createSessions(systemClock, systemRandom),
): (scope: FastifyInstance) => Promise<void> {
  const signIn = createSignIn({ ...deps, clock: systemClock });
  const kit = { templates: loadTemplates(views), languages: loadLanguages(deps.messagesDirectory) };
  const visiting = visitsOf({ ...deps, sessions, signIn, kit });
  const admit = admitting(deps.isSignedIn ?? isSignedInThere);
  return async (scope) => {
    await scope.register(
      async (app) => {
        await app.register(fastifyCookie, { hook: false });
        await app.register(fastifyAccepts);
        app.addContentTypeParser(
          'application/x-www-form-urlencoded',
          { parseAs: 'buffer', bodyLimit },
          (_request, body, done) => done(null, body),
        );
        app.addHook('onRequest', async (request, reply) => {
          void reply.header('x-content-type-options', 'nosniff');
          // A name that leads to this machine is no name of the console.
          if (request.headers.host !== new URL(originOf(deps.url, request)).host)
            throw new OAuthError('invalid_request', 'The console is not at this address.');
        });
        for (const { path, contentType, body } of kit.templates.assets)
          app.get(path, async (_request, reply) =>
            reply.header('cache-control', 'public, max-age=31536000, immutable').type(contentType).send(body),
          );
        app.setErrorHandler((thrown, request, reply) =>
          answerError(thrown, visiting(app, request, reply), deps.log),
        );
        app.setNotFoundHandler((request, reply) =>
          answerError(new OAuthError('not_found', 'Not found.'), visiting(app, request, reply), deps.log),
        );
        for (const method of methodsOfPages(pageTable, admit)) addPage(app, method, visiting);
      },
      { prefix: consolePaths.base },
    );
  };
}

type Visiting = (
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  row?: Visit['row'],
) => Visit;

function addPage(
  app: FastifyInstance,
  { method, path, row, handle }: PageMethod<Visit, Who>,
  visiting: Visiting,
): void {
  app.route({ method, url: path, handler: (request, reply) => handle(visiting(app, request, reply, row)) });
}

const errorRow = {
  path: '',
  who: 'anyone',
  title: 'This request cannot be completed',
  formTarget: 'own',
} as const;

function visitsOf({
  url,
  byToken,
  issuer,
  sessions,
  signIn,
  tryProvider,
  kit,
}: ConsoleDeps & Pick<Visit, 'sessions' | 'signIn'> & { kit: Parameters<typeof sendHtmlOf>[1] }): Visiting {
  return (app, request, reply, row = errorRow) => {
    const origin = originOf(url, request);
    const isSecure = origin.startsWith('https:');
    const wireName = isSecure ? `__Host-${cookieName}` : cookieName;
    const cookie = readCookie(app, request, wireName);
    const requestId = ulid(systemClock, systemRandom);
    const live = () => sessions.live(cookie);
    let opened: Opened = () => false;
    let organization: string | undefined;
    const visit: Visit = {
      request,
      reply,
      row,
      cookie,
      origin,
      issuer,
      tryProvider,
      sessions,
      signIn,
      session() {
        const session = live();
        if (session === undefined) throw new OAuthError('invalid_token', 'The session is over.');
        return session;
      },
      api: (service) => byToken.clientOf(visit.session().accessToken, request.ip)(service),
      opens: (path) => isOpenTo(opened, path, ({ sees }) => sees),
      offers: (path) => isOpenTo(opened, path, ({ sees, does = [] }) => [...sees, ...does]),
      pagesOf: (tenantId) => pagesOf(visit, tenantId),
      async askWhatOpens() {
        const { accessToken, everyTenant } = visit.session();
        const tenantId = param(visit, 'tenant');
        const [byScopes, name] = await Promise.all([
          byToken.openedBy(accessToken),
          tenantId === '' ? undefined : signIn.nameOf(tenantId, visit.call()),
        ]);
        organization = name;
        // What is for no single tenant is for operators.
        opened = (method) =>
          byScopes(method) && (everyTenant || declaredAccess(method).tenantField !== undefined);
      },
      call: () => rootCall(requestId, callTimeoutMs),
      language: () => kit.languages.of(languageOf(request, kit.languages)),
      languageTags: kit.languages.tags,
      setCookie(value) {
        void reply.setCookie(wireName, value, {
          path: '/',
          httpOnly: true,
          sameSite: 'lax',
          secure: isSecure,
          ...(value === '' && { maxAge: 0 }),
        });
      },
      send(page) {
        const whole: Page = { script: true, ...row, ...page };
        const { opens, offers } = visit;
        const navigation = navigationOf(visit, live());
        const scripts = navigation && ['list.js', 'find.js'];
        // Who may not see an organization is not told its name.
        const named = reply.statusCode === 403 ? undefined : organization;
        const frame = {
          base: consolePaths.base,
          organization: named,
          navigation,
          opens,
          offers,
          scripts,
        };
        return sendHtmlOf(reply, kit, { ...whole, data: { requestId, ...page.data } }, frame);
      },
    };
    return visit;
  };
}

type Opened = Awaited<ReturnType<ByToken['openedBy']>>;

const patterns = pageTable.map(({ path, who }) => ({
  who,
  pattern: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`),
}));

/** Whether these methods of the page at a path are open; a path without a page is not. */
function isOpenTo(
  opened: Opened,
  path: string,
  methodsOf: (who: Exclude<Who, 'anyone'>) => readonly DescMethod[],
): boolean {
  const at = path.split('?', 1)[0] ?? '';
  const found = patterns.find(({ pattern }) => pattern.test(at));
  return found !== undefined && (found.who === 'anyone' || methodsOf(found.who).every(opened));
}

function readCookie(app: FastifyInstance, request: FastifyRequest, name: string): string {
  const value = app.parseCookie(request.headers.cookie ?? '')[name] ?? '';
  return cookiePattern.test(value) ? value : '';
}

/** The address of the console: on this machine with the port of the listener, which is a free one. */
function originOf(url: string, { raw: { socket } }: FastifyRequest): string {
  const { protocol, port } = new URL(url);
  return protocol === 'http:' && port === '' ? `${url}:${socket.localPort ?? ''}` : url;
}

/**
 * Sends people without a session here to the sign-in; one who has a session there comes back without a question. Who
 * has signed out there is signed out here, and who has not proved lately who they are does so before what is grave.
 */
function admitting(isSignedIn: (visit: Visit) => Promise<boolean>) {
  return async (visit: Visit, who: Who): Promise<(() => FastifyReply) | undefined> => {
    const { sessions, cookie, row, request } = visit;
    if (who === 'anyone') {
      await knowWhatOpens(visit);
      return undefined;
    }
    const session = sessions.live(cookie);
    if (session === undefined) return () => signInAgain(visit);
    const [signedIn] = await Promise.all([isSignedIn(visit), visit.askWhatOpens()]);
    if (!signedIn) {
      sessions.end(cookie);
      // A new session may have taken its place there: then they come back without a question.
      return () => goTo(visit, startPath(visit, session.tenantId));
    }
    if (row.needsFresh !== true || isFresh(session, request.method, systemClock)) return undefined;
    return () => goTo(visit, startPath(visit, session.tenantId, { fresh: 'yes' }));
  };
}

/** For the navigation, where nothing else depends on it. */
async function knowWhatOpens(visit: Visit): Promise<void> {
  if (visit.sessions.live(visit.cookie) !== undefined) await visit.askWhatOpens().catch(() => undefined);
}

function signInAgain(visit: Visit): FastifyReply {
  const { sessions, cookie } = visit;
  const known = sessions.tenantOf(cookie);
  const next = thisPage(visit);
  return known === undefined
    ? goTo(visit, withParameters('/sign-in', { organization: param(visit, 'tenant'), next }))
    : goTo(visit, startPath(visit, known));
}

/** Where a sign-in begins that comes back to this page. */
function startPath(visit: Visit, organization: string, more: Readonly<Record<string, string>> = {}): string {
  return withParameters('/start', { organization, next: thisPage(visit), ...more });
}

function thisPage(visit: Visit): string {
  const { request } = visit;
  const query = request.method === 'GET' ? (request.raw.url ?? '').split('?')[1] : undefined;
  return here(visit) + (query === undefined ? '' : `?${query}`);
}

async function answerError(thrown: unknown, visit: Visit, log: Logger): Promise<FastifyReply> {
  const { reply, sessions, cookie } = visit;
  if (isSignedOut(thrown) && sessions.live(cookie) !== undefined) {
    // The token no longer counts, whatever its time: they sign in once more, or are told why they cannot.
    sessions.end(cookie);
    visit.setCookie('');
    return goTo(visit, '/signed-out');
  }
  if (isSignedOut(thrown)) return signInAgain(visit);
  const { status, title, message, isDefect } = troubleOf(thrown);
  if (isDefect) log.error({ err: thrown }, 'unhandled error in a page of the console');
  void reply.code(status);
  await knowWhatOpens(visit);
  return visit.send({ template: 'refused', title, message });
}
