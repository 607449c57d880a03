import type { FastifyReply } from 'fastify';
import { OAuthError } from '@tessera/oauth';
import { rootCall } from '@tessera/rpc';
import { count, readForm } from '@tessera/pages';
import { requestParameters } from '../dialects/request-parameters.ts';
import { standard } from '../dialects/standard.ts';
import { confirmLogout } from '../pages/logout/logout-page.ts';
import type { PageContext, PageHandler } from '../pages/page-context.ts';
import { requiredCredentials } from './sent-credentials.ts';

/**
 * `POST /logout`: a form of a browser, or, at the path of Keycloak, of an application that has no browser to send. Its
 * refresh token says which session is over.
 */
export const postLogout: PageHandler = async (context) => {
  if (context.request.incoming.isKeycloakPath) {
    const form = readForm(context.request);
    if (form.has('refresh_token')) return logoutByToken(context, form);
  }
  return confirmLogout(context);
};

async function logoutByToken(
  { request, reply, gateway }: PageContext,
  form: ReadonlyMap<string, string>,
): Promise<FastifyReply> {
  const { authorization } = request.headers;
  if (count(request.raw, 'authorization') > 1)
    throw new OAuthError('invalid_request', 'The Authorization header is given more than once.');
  const parameters = requestParameters(form, standard);
  await gateway.peers.token.endGrantSession(
    {
      caller: request.incoming.caller(),
      credentials: requiredCredentials({ authorization, parameters }),
      refreshToken: parameters.required('refreshToken', 'The refresh token is missing.'),
    },
    rootCall(request.incoming.requestId),
  );
  return reply.code(204).header('cache-control', 'no-store').send();
}
