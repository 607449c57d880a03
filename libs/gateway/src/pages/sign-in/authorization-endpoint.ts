import type { FastifyRequest } from 'fastify';
import { rootCall, notUnderstood } from '@tessera/rpc';
import { endpointPaths } from '@tessera/oauth';
import { rawQuery, readForm, readQuery, redirectToPage } from '@tessera/pages';
import { newBrowserId, readCookie, writeCookie } from '../../http/cookies.ts';
import type { Gateway } from '../../gateway.ts';
import { countStart } from '../../http/start-limit.ts';
import { browserContext } from '../browser-context.ts';
import { sendMismatch } from './mismatch.ts';
import type { GatewayPage, PageHandler } from '../page-context.ts';
import { loginPath } from '../paths.ts';
import { carriedRequest } from './carried-request.ts';
import { sendToClient } from './to-client.ts';

/**
 * `GET /authorize` (RFC 6749 §4.1.1). The rules are those of `authorize`; here a repeated parameter is refused and the
 * pre-session cookie is given to a browser that begins.
 */
const load: PageHandler = async ({ app, request, reply, gateway }) => {
  const query = rawQuery(request);
  const parameters = Object.fromEntries(readQuery(request));
  const known = readCookie(app, request, 'browser');
  const browserId = known === '' ? newBrowserId(gateway.runtime.random) : known;
  const browser = browserContext(app, request, browserId);
  await countStart('authorization', browser.ipAddress, gateway);
  const call = rootCall(request.incoming.requestId);
  const hint = await readHint(parameters['id_token_hint'], request, gateway);
  const visit = { case: 'request', value: { parameters, ...hint } } as const;
  const { next: begun } = await gateway.peers.authorize.begin({ browser, visit }, call);
  const next = begun?.next;
  if (next?.case === 'redirect') return sendToClient({ request, reply, gateway }, next.value);
  if (known === '') writeCookie(request, reply, 'browser', browserId);
  if (next?.case === 'step') {
    const interactionId = next.value.interaction?.interactionId ?? '';
    return reply
      .header('cache-control', 'no-store')
      .redirect(loginPath(interactionId, carriedRequest(query)), 302);
  }
  if (next?.case === 'tenantMismatch') {
    const { interaction } = next.value;
    const resume = [{ name: 'continue', value: query }];
    return sendMismatch({ request, reply, gateway, browserId, interaction, formTarget: 'client', resume });
  }
  throw notUnderstood('what comes next in a sign-in');
};

/**
 * `POST /authorize` (OIDC Core §3.1.2.1): the same request as a form. It is sent on as `GET`, because a browser leaves
 * out the session's cookies when another site posts.
 */
const act: PageHandler = async ({ request, reply }) => {
  const query = new URLSearchParams([...readForm(request)]).toString();
  return redirectToPage(reply, `${endpointPaths.authorization}?${query}`);
};

export const authorizationPage: GatewayPage = { load, act };

/** The person an `id_token_hint` names (OIDC Core §3.1.2.1), or that it is no ID token of this issuer. */
async function readHint(
  idToken: string | undefined,
  request: FastifyRequest,
  gateway: Gateway,
): Promise<{ hintedUserId: string; idTokenHintIsInvalid: boolean }> {
  if (idToken === undefined || idToken === '') return { hintedUserId: '', idTokenHintIsInvalid: false };
  const caller = request.incoming.caller();
  const call = rootCall(request.incoming.requestId);
  const hint = await gateway.peers.token.verifyIdTokenHint({ caller, idToken }, call);
  return { hintedUserId: hint.valid ? hint.sub : '', idTokenHintIsInvalid: !hint.valid };
}
