import type { FastifyReply } from 'fastify';
import { rootCall } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import type { GetInteractionResponse, Interaction } from '@tessera/proto-gen/authorize';
import { dropCookie, readCookie } from '../http/cookies.ts';
import { readQuery } from '../http/query.ts';
import { browserContext } from './browser.ts';
import { antiForgeryField, checkForm, purpose, readForm, longestShown } from './form.ts';
import type { PageHandler, PageContext } from './page-context.ts';
import { sendMismatch } from './mismatch.ts';
import { sendPage, sendPageError, type Page } from './page.ts';
import { wrongCredentials } from './person.ts';
import { giveSession } from './session.ts';
import { sendToClient } from './to-client.ts';

/** `GET /login`: the form of a pending sign-in, else a page that says there is none. */
export const showLogin: PageHandler = async (context) => {
  const { app, request, reply, gateway } = context;
  const interactionId = readQuery(request).get('interaction') ?? '';
  const found = interactionId === '' ? undefined : await findInteraction(context, interactionId);
  if (found === undefined) return showNoSignIn(context);
  const { interaction, redirect } = found;
  if (redirect !== undefined) return sendToClient(reply, gateway, redirect);
  if (interaction === undefined) return showNoSignIn(context);
  const browserId = readCookie(app, request, 'browser');
  const page = loginPage(interaction, context, browserId, { identifier: interaction.loginHint });
  return sendPage(request, reply, gateway, page);
};

/** `POST /login`: checks the credentials and sends the browser on; wrong ones get the form again. */
export const signIn: PageHandler = async (context) => {
  const { app, request, reply, gateway } = context;
  const form = readForm(request);
  const interactionId = form.get('interaction') ?? '';
  checkForm(app, request, form, purpose.signIn(interactionId), gateway);
  const browser = browserContext(app, request);
  const identifier = form.get('identifier') ?? '';
  const password = form.get('password') ?? '';
  if (identifier === '' || password === '') {
    const { interaction, redirect } = await readInteraction(context, interactionId);
    if (redirect !== undefined) return sendToClient(reply, gateway, redirect);
    return refuseSignIn(
      context,
      interaction,
      identifier,
      400,
      'Enter both your user name and your password.',
    );
  }
  const { outcome } = await gateway.peers.authorize.signIn(
    { browser, interactionId, identifier, password },
    rootCall(request.incoming.requestId),
  );
  switch (outcome.case) {
    case 'signedIn': {
      const { session, redirect } = outcome.value;
      if (session === undefined || redirect === undefined) break;
      await giveSession(context, session);
      return sendToClient(reply, gateway, redirect);
    }
    case 'wrongCredentials': {
      return refuseSignIn(context, outcome.value.interaction, identifier, 401, wrongCredentials);
    }
    case 'tenantMismatch': {
      const going = [{ name: 'interaction', value: interactionId }];
      const { browserId } = browser;
      const { interaction } = outcome.value;
      return sendMismatch({ request, reply, gateway, browserId, interaction, formTarget: 'client', going });
    }
    case 'redirect':
      return sendToClient(reply, gateway, outcome.value);
    case undefined:
  }
  throw new OAuthError('server_error', 'The sign-in could not be completed.');
};

function readInteraction(
  { app, request, gateway }: PageContext,
  interactionId: string,
): Promise<GetInteractionResponse> {
  return gateway.peers.authorize.getInteraction(
    { browser: browserContext(app, request), interactionId },
    rootCall(request.incoming.requestId),
  );
}

/** Undefined if the sign-in is finished, has expired, or belongs to another browser. */
async function findInteraction(
  context: PageContext,
  interactionId: string,
): Promise<GetInteractionResponse | undefined> {
  try {
    return await readInteraction(context, interactionId);
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'invalid_request') return undefined;
    throw error;
  }
}

function refuseSignIn(
  context: PageContext,
  interaction: Interaction | undefined,
  identifier: string,
  status: 400 | 401,
  problem: string,
): FastifyReply {
  const { app, request, reply, gateway } = context;
  if (interaction === undefined)
    throw new OAuthError('invalid_request', 'There is no sign-in request to continue.');
  const page = loginPage(interaction, context, readCookie(app, request, 'browser'), { identifier, problem });
  return sendPageError(request, reply, gateway, new OAuthError('access_denied', problem), {
    ...page,
    status,
  });
}

function loginPage(
  interaction: Interaction,
  { gateway }: PageContext,
  browserId: string,
  shown: { readonly identifier: string; readonly problem?: string },
): Page {
  const { interactionId, tenantId, tenantName, applicationName } = interaction;
  return {
    template: 'login',
    title: 'Sign in',
    message: `Sign in to continue to ${applicationName}.`,
    formTarget: 'client',
    tenant: { id: tenantId, name: tenantName },
    data: {
      application: applicationName,
      identifier: shown.identifier.slice(0, longestShown),
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

function showNoSignIn({ app, request, reply, gateway }: PageContext): FastifyReply {
  const signedOut = readCookie(app, request, 'signedOut') !== '';
  if (!signedOut) {
    const message = 'There is no sign-in request to continue.';
    return sendPage(request, reply, gateway, {
      template: 'no-sign-in',
      title: 'No sign-in request',
      message,
      formTarget: 'own',
    });
  }
  dropCookie(request, reply, 'signedOut');
  const message = 'You are signed out.';
  return sendPage(request, reply, gateway, {
    template: 'signed-out',
    title: 'Signed out',
    message,
    formTarget: 'own',
  });
}
