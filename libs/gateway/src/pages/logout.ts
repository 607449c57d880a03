import type { FastifyReply } from 'fastify';
import { rootCall } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import { dropCookie, newBrowserId, readCookie, writeCookie } from '../http/cookies.ts';
import { readQuery } from '../http/query.ts';
import { loginPath } from './authorize.ts';
import { approvalsPath, devicePath } from './paths.ts';
import { browserContext } from './browser.ts';
import { antiForgeryField, checkForm, purpose, readForm } from './form.ts';
import type { PageHandler, PageContext } from './page-context.ts';
import { sendPage } from './page.ts';
import { noteSessionEnd } from './session.ts';

/** How long the page after a logout may still say so, in seconds. */
const signedOutSeconds = 60;

/** What a request to log out asks for (OIDC RP-Initiated Logout §2). */
interface LogoutRequest {
  readonly clientId: string;
  readonly postLogoutRedirectUri: string;
  readonly state: string;
  /** What a valid `id_token_hint` proves; undefined without one. */
  readonly hint: { readonly clientId: string; readonly sessionId: string; readonly sub: string } | undefined;
}

/**
 * `GET /logout`: ends the session and sends the browser on, always by 302. In the strict profile a request that may come from
 * another site and does not prove with an ID token whose session it means asks the person first.
 */
export const logout: PageHandler = async (context) => {
  const asked = await readLogout(context, readQuery(context.request));
  if (context.gateway.config.TESSERA_PROFILE === 'strict' && (await mustAsk(context, asked))) {
    return askToSignOut(context, asked);
  }
  return context.reply.redirect(await endSession(context, asked), 302);
};

/** `POST /logout`: the answer to a form of ours. Where it goes on is a path of ours or what `GET /logout` would answer. */
export const confirmLogout: PageHandler = async (context) => {
  const { app, request, reply, gateway } = context;
  const form = readForm(request);
  checkForm(app, request, form, purpose.signOut, gateway);
  const onward = onwardPath(form);
  const location = await endSession(context, await readLogout(context, form), onward);
  return reply.redirect(location, 303);
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
  return undefined;
}

/** Ends the session and drops its cookie; returns where the browser goes: `onward`, else what `authorize` answers. */
async function endSession(context: PageContext, asked: LogoutRequest, onward?: string): Promise<string> {
  const { app, request, reply, gateway } = context;
  const { location, ...ended } = await gateway.peers.authorize.endSession(
    {
      browser: browserContext(app, request),
      clientId: asked.clientId,
      postLogoutRedirectUri: asked.postLogoutRedirectUri,
      state: asked.state,
      hintedClientId: asked.hint?.clientId ?? '',
      refuseFallback: gateway.config.TESSERA_PROFILE === 'strict',
    },
    rootCall(request.incoming.requestId),
  );
  if (ended.sessionId !== '') await noteSessionEnd(context, ended);
  reply.header('cache-control', 'no-store');
  dropCookie(request, reply, 'session');
  if (onward !== undefined) return onward;
  if (location !== '') return location;
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
  // RP-Initiated Logout §2: the hint must have been issued to the client that is named beside it.
  if (!answer.valid || (asked.clientId !== '' && asked.clientId !== answer.clientId)) return asked;
  return { ...asked, hint: { clientId: answer.clientId, sessionId: answer.sessionId, sub: answer.sub } };
}

/** Anybody holds an ID token of some session: only one of this browser's own speaks for its person. */
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

function askToSignOut({ app, request, reply, gateway }: PageContext, asked: LogoutRequest): FastifyReply {
  const known = readCookie(app, request, 'browser');
  const browserId = known === '' ? newBrowserId(gateway.runtime.random) : known;
  if (known === '') writeCookie(request, reply, 'browser', browserId);
  return sendPage(request, reply, gateway, {
    template: 'sign-out',
    title: 'Sign out?',
    message: 'Confirm that you want to sign out.',
    formTarget: 'client',
    data: {
      fields: [
        { name: antiForgeryField, value: gateway.antiForgery.token(browserId, purpose.signOut) },
        { name: 'client_id', value: asked.clientId },
        { name: 'post_logout_redirect_uri', value: asked.postLogoutRedirectUri },
        { name: 'state', value: asked.state },
      ],
    },
  });
}
