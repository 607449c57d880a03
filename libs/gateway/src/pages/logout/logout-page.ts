import type { FastifyReply } from 'fastify';
import { antiForgeryField, readForm, readQuery, redirectToPage, tooLong } from '@tessera/pages';
import { waitForOthers } from '../../http/waiting-for-others.ts';
import { rootCall } from '@tessera/rpc';
import { endpointPaths, OAuthError } from '@tessera/oauth';
import { dropCookie, readCookie, writeCookie } from '../../http/cookies.ts';
import {
  accountPageNamed,
  accountPath,
  approvalsPath,
  devicePath,
  loginPath,
  passwordPath,
} from '../paths.ts';
import { browserContext } from '../browser-context.ts';
import { checkForm, fieldsOfForm, purpose } from '../form.ts';
import type { PageHandler, PageContext } from '../page-context.ts';
import { sendPage, sendPageError } from '../send-page.ts';
import { noteSessionEnd } from '../session.ts';
import { returnFromProvider } from './after-provider.ts';

/** How long the page after a logout may still say so, in seconds. */
const signedOutSeconds = 60;

/** Characters that the page which asks first carries on, so that no request makes a large page. */
const longestCarried = 4 * 1024;

/** What a request to log out asks for (OIDC RP-Initiated Logout §2). */
interface LogoutRequest {
  readonly clientId: string;
  readonly postLogoutRedirectUri: string;
  readonly state: string;
  /** What a valid `id_token_hint` proves; undefined without one. */
  readonly hint: { readonly clientId: string; readonly sessionId: string; readonly sub: string } | undefined;
}

/** What a relying party sends (OIDC RP-Initiated Logout §2). `logout_hint` and `ui_locales` change nothing here. */
const parameters = [
  'id_token_hint',
  'logout_hint',
  'client_id',
  'post_logout_redirect_uri',
  'state',
  'ui_locales',
] as const;

/**
 * `GET /logout`: ends the session and sends the browser on, always by 302. In the strict profile a request that may
 * come from another site and does not prove with an ID token whose session it means asks the person first, and a URI
 * that is not registered is an error that ends nothing.
 */
export const logout: PageHandler = async (context) => {
  const asked = await readLogout(context, readQuery(context.request));
  const isStrict = context.gateway.config.TESSERA_PROFILE === 'strict';
  if (isStrict && (await mustAsk(context, asked))) return askToSignOut(context, asked);
  const location = await endSession(context, asked, { refuseUnregistered: isStrict, returns: true });
  return location === undefined ? refuseUri(context) : context.reply.redirect(location, 302);
};

/**
 * `POST /logout`: the answer to a form of ours, which continues at a path of ours or where `GET /logout` would. The
 * form of a relying party is sent on as `GET`, because a browser leaves out the session's cookies when another site
 * posts.
 */
export const confirmLogout: PageHandler = async (context) => {
  const { app, request, reply } = context;
  const form = readForm(request);
  if (!form.has(antiForgeryField)) {
    const sent = parameters.flatMap((name) => (form.has(name) ? [[name, form.get(name) ?? '']] : []));
    const query = sent.length === 0 ? '' : `?${new URLSearchParams(sent).toString()}`;
    return redirectToPage(reply, endpointPaths.endSession + query);
  }
  checkForm(app, request, form, purpose.signOut);
  const onward = onwardPath(form);
  // Who only changes the account stays signed in at the provider, and the forms of most pages may lead nowhere else.
  const returns = onward === undefined || form.get('signs_out') === 'provider';
  const asked = await readLogout(context, form);
  const location = await endSession(context, asked, { refuseUnregistered: false, returns, onward });
  return location === onward && onward !== undefined
    ? redirectToPage(reply, onward)
    : reply.redirect(location ?? '/login', 303);
};

/** Where a form wants to go on: back to the authorization request, the sign-in or the decision it interrupted. */
function onwardPath(form: ReadonlyMap<string, string>): string | undefined {
  const query = form.get('continue') ?? '';
  if (query !== '') {
    if (!/^[!-~]+$/.test(query))
      throw new OAuthError('invalid_request', 'The request to continue cannot be read.');
    return `/authorize?${query}`;
  }
  const interactionId = form.get('interaction') ?? '';
  if (interactionId !== '') return loginPath(interactionId);
  const going = form.get('going') ?? '';
  if (going === 'device') return devicePath({ user_code: form.get('user_code') });
  if (going === 'approvals') return approvalsPath(form.get('tenant'));
  if (going === 'account') return accountPath(form.get('tenant'), accountPageNamed(form.get('page') ?? ''));
  if (going === 'password') return passwordPath(form.get('tenant'));
  return undefined;
}

/**
 * Ends the session and drops its cookie. Resolves with where the browser goes, or with undefined if the requested URI
 * is refused and nothing ended.
 */
async function endSession(
  context: PageContext,
  asked: LogoutRequest,
  {
    refuseUnregistered,
    returns,
    onward,
  }: {
    readonly refuseUnregistered: boolean;
    /** Whether the browser may sign out of the person's provider before. */
    readonly returns: boolean;
    /** A page of ours to go on with. */
    readonly onward?: string | undefined;
  },
): Promise<string | undefined> {
  const { app, request, reply, gateway } = context;
  const back = returns ? returnFromProvider(context) : undefined;
  const answer = await waitForOthers(
    request,
    gateway,
    async (options) =>
      gateway.peers.authorize.endSession(
        {
          browser: browserContext(app, request),
          clientId: asked.clientId,
          postLogoutRedirectUri: asked.postLogoutRedirectUri,
          state: asked.state,
          hintedClientId: asked.hint?.clientId ?? '',
          refuseFallback: gateway.config.TESSERA_PROFILE === 'strict' || request.incoming.isKeycloakPath,
          refuseUnregistered,
          providerReturnUri: back?.uri ?? '',
          providerReturnState: back?.state ?? '',
        },
        options,
      ),
    {},
  );
  const { location, providerLocation, redirectUriRefused, ...ended } = answer;
  if (redirectUriRefused) return undefined;
  if (ended.sessionId !== '') await noteSessionEnd(context, ended);
  reply.header('cache-control', 'no-store');
  dropCookie(request, reply, 'session');
  const next = onward ?? (location === '' ? '/login' : location);
  if (back !== undefined && providerLocation !== '') {
    back.remember(next);
    return providerLocation;
  }
  if (next !== '/login') return next;
  writeCookie(request, reply, 'signedOut', '1', signedOutSeconds);
  return '/login';
}

async function readLogout(
  { request, gateway }: PageContext,
  parameters: ReadonlyMap<string, string>,
): Promise<LogoutRequest> {
  const read = (name: string) => parameters.get(name) ?? '';
  const asked = {
    clientId: read('client_id'),
    postLogoutRedirectUri: read('post_logout_redirect_uri'),
    state: read('state'),
    hint: undefined,
  };
  const idToken = read('id_token_hint');
  if (idToken === '') return asked;
  const answer = await gateway.peers.token.verifyIdTokenHint(
    { caller: request.incoming.caller(), idToken },
    rootCall(request.incoming.requestId),
  );
  // RP-Initiated Logout §2: the hint must have been issued to the client that is named with it.
  if (!answer.valid || (asked.clientId !== '' && asked.clientId !== answer.clientId)) return asked;
  return { ...asked, hint: { clientId: answer.clientId, sessionId: answer.sessionId, sub: answer.sub } };
}

/** Anyone may hold an ID token of some session: only one of this browser's own speaks for its person. */
async function mustAsk({ app, request, gateway }: PageContext, { hint }: LogoutRequest): Promise<boolean> {
  if (readCookie(app, request, 'session') === '') return false;
  const site = request.headers['sec-fetch-site'];
  if (site === 'same-origin' || site === 'none') return false;
  if (hint === undefined) return true;
  const { session } = await gateway.peers.authorize.getSession(
    { browser: browserContext(app, request) },
    rootCall(request.incoming.requestId),
  );
  return session !== undefined && session.sessionId !== hint.sessionId && session.userId !== hint.sub;
}

function askToSignOut(context: PageContext, asked: LogoutRequest): FastifyReply {
  const { request, reply, gateway, row } = context;
  const carried = [
    { name: 'client_id', value: asked.clientId },
    { name: 'post_logout_redirect_uri', value: asked.postLogoutRedirectUri },
    { name: 'state', value: asked.state },
  ];
  if (carried.reduce((sum, { value }) => sum + value.length, 0) > longestCarried) throw tooLong();
  return sendPage(request, reply, gateway, {
    template: 'sign-out',
    title: row.title,
    message: 'Another site asked to end your session. Confirm that you want to sign out.',
    formTarget: row.formTarget,
    data: { fields: fieldsOfForm(context, purpose.signOut, carried) },
  });
}

/** The error of a URI that is not registered; its page offers to sign out without returning to the application. */
function refuseUri(context: PageContext): FastifyReply {
  const { request, reply, gateway } = context;
  const error = new OAuthError(
    'invalid_request',
    'The post_logout_redirect_uri is not registered for this application.',
  );
  return sendPageError(request, reply, gateway, error, {
    template: 'sign-out',
    title: 'This address is not registered',
    message: `${error.message} You are not signed out yet.`,
    // It may lead to the person's provider.
    formTarget: 'client',
    data: { fields: fieldsOfForm(context, purpose.signOut) },
  });
}
