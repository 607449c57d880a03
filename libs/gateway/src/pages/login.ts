import type { FastifyReply } from 'fastify';
import { rootCall } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import type { GetInteractionResponse, Interaction, Redirect } from '@tessera/proto-gen/authorize';
import { dropCookie, readCookie } from '../http/cookies.ts';
import { readQuery } from '../http/query.ts';
import { browserContext } from './browser.ts';
import { antiForgeryField, checkForm, purpose, readForm } from './form.ts';
import type { PageHandler, Visit } from './handler.ts';
import { sendMismatch } from './mismatch.ts';
import { sendPage, sendPageError, type Page } from './page.ts';
import { giveSession } from './session.ts';

/** `GET /login`: the form where a sign-in is waiting, else a page that says that nothing is. */
export const showLogin: PageHandler = async (visit) => {
  const { app, request, reply, gateway } = visit;
  const interactionId = readQuery(request).get('interaction') ?? '';
  const waiting = interactionId === '' ? undefined : await findInteraction(visit, interactionId);
  if (waiting === undefined) return showNothingWaiting(visit);
  const { interaction, redirect } = waiting;
  if (redirect !== undefined) return sendOn(reply, redirect);
  if (interaction === undefined) return showNothingWaiting(visit);
  const browserId = readCookie(app, request, 'browser');
  const page = loginPage(interaction, visit, browserId, { identifier: interaction.loginHint });
  return sendPage(request, reply, gateway, page);
};

/** `POST /login`: checks the credentials and sends the browser on; wrong ones get the form again. */
export const signIn: PageHandler = async (visit) => {
  const { app, request, reply, gateway } = visit;
  const form = readForm(request);
  const interactionId = form.get('interaction') ?? '';
  checkForm(app, request, form, purpose.signIn(interactionId), gateway);
  const browser = browserContext(app, request);
  const identifier = form.get('identifier') ?? '';
  const password = form.get('password') ?? '';
  if (identifier === '' || password === '') {
    const { interaction, redirect } = await readInteraction(visit, interactionId);
    if (redirect !== undefined) return sendOn(reply, redirect);
    return refuseSignIn(visit, interaction, identifier, 400, 'Enter both your user name and your password.');
  }
  const { outcome } = await gateway.peers.authorize.signIn(
    { browser, interactionId, identifier, password },
    rootCall(request.incoming.requestId),
  );
  switch (outcome.case) {
    case 'signedIn': {
      const { session, redirect } = outcome.value;
      if (session === undefined || redirect === undefined) break;
      await giveSession(visit, session);
      return sendOn(reply, redirect);
    }
    case 'wrongCredentials': {
      return refuseSignIn(
        visit,
        outcome.value.interaction,
        identifier,
        401,
        'The user name or the password is wrong.',
      );
    }
    case 'tenantMismatch': {
      const going = [{ name: 'interaction', value: interactionId }];
      const { browserId } = browser;
      const { interaction } = outcome.value;
      return sendMismatch({ request, reply, gateway, browserId, interaction, formTarget: 'client', going });
    }
    case 'redirect':
      return sendOn(reply, outcome.value);
    case undefined:
  }
  throw new OAuthError('server_error', 'The sign-in could not be completed.');
};

/** The contract asks for 302 here; browsers follow it with GET as they do a 303 (RFC 9110 §15.4.3). */
function sendOn(reply: FastifyReply, { location }: Redirect): FastifyReply {
  return reply.header('cache-control', 'no-store').redirect(location, 302);
}

function readInteraction(
  { app, request, gateway }: Visit,
  interactionId: string,
): Promise<GetInteractionResponse> {
  return gateway.peers.authorize.getInteraction(
    { browser: browserContext(app, request), interactionId },
    rootCall(request.incoming.requestId),
  );
}

/** Undefined when the sign-in was finished, has expired, or waits in another browser. */
async function findInteraction(
  visit: Visit,
  interactionId: string,
): Promise<GetInteractionResponse | undefined> {
  try {
    return await readInteraction(visit, interactionId);
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'invalid_request') return undefined;
    throw error;
  }
}

function refuseSignIn(
  visit: Visit,
  interaction: Interaction | undefined,
  identifier: string,
  status: 400 | 401,
  problem: string,
): FastifyReply {
  const { app, request, reply, gateway } = visit;
  if (interaction === undefined)
    throw new OAuthError('invalid_request', 'Nothing is waiting for a sign-in here.');
  const page = loginPage(interaction, visit, readCookie(app, request, 'browser'), { identifier, problem });
  return sendPageError(request, reply, gateway, new OAuthError('access_denied', problem), {
    ...page,
    status,
  });
}

function loginPage(
  interaction: Interaction,
  { gateway }: Visit,
  browserId: string,
  shown: { readonly identifier: string; readonly problem?: string },
): Page {
  const { interactionId, tenantId, tenantName, applicationName } = interaction;
  return {
    view: 'login',
    title: 'Sign in',
    message: `Sign in to continue to ${applicationName}.`,
    formTarget: 'client',
    tenant: { id: tenantId, name: tenantName },
    data: {
      application: applicationName,
      identifier: shown.identifier,
      problem: shown.problem,
      fields: [
        {
          name: antiForgeryField,
          value: gateway.antiForgery.token(browserId, purpose.signIn(interactionId)),
        },
        { name: 'interaction', value: interactionId },
      ],
    },
  };
}

function showNothingWaiting({ app, request, reply, gateway }: Visit): FastifyReply {
  const signedOut = readCookie(app, request, 'signedOut') !== '';
  if (!signedOut) {
    const message = 'No sign-in is waiting in this browser.';
    return sendPage(request, reply, gateway, {
      view: 'waiting',
      title: 'Nothing to sign in to',
      message,
      formTarget: 'own',
    });
  }
  dropCookie(request, reply, 'signedOut');
  const message = 'You are signed out.';
  return sendPage(request, reply, gateway, {
    view: 'signed-out',
    title: 'Signed out',
    message,
    formTarget: 'own',
  });
}
