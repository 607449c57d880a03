import type { FastifyReply } from 'fastify';
import { OAuthError, otherPaths } from '@tessera/oauth';
import { ConnectError, fieldViolations, rootCall } from '@tessera/rpc';
import { languageOf, readForm, readQuery, redirectToPage, shownParameter } from '@tessera/pages';
import { sendTenantForm, tenantProblem } from '../tenant-form.ts';
import { countMailRequest } from '../count-mail-request.ts';
import { checkForm, fieldsOfForm, purpose } from '../form.ts';
import type { GatewayPage, PageContext, PageHandler } from '../page-context.ts';
import { sendPage, sendPageError, type Page } from '../send-page.ts';
import { loginPath, registrationPath } from '../paths.ts';
import { isClosed, isRefusal, sendClosed } from './mail-request.ts';

/** Where a registration leads. */
interface Place {
  readonly tenantId: string;
  /** The visit to go on with; empty without one. */
  readonly interactionId: string;
}

/** `GET /register`: asks for an email address, or says what comes next. */
const load: PageHandler = async (context) => {
  const { request, reply, gateway } = context;
  const query = readQuery(request);
  const place = placeOf(context, query);
  const { tenantId, interactionId: interaction } = place;
  const elsewhere = request.incoming.tenant === undefined ? gateway.tenants.issuerOf(tenantId) : undefined;
  if (elsewhere !== undefined)
    return reply
      .header('cache-control', 'no-store')
      .redirect(elsewhere + registrationPath({ interaction: interaction || undefined }), 302);
  const unnamed = await tenantProblem(context, tenantId);
  if (unnamed !== undefined)
    return sendTenantForm(context, {
      path: otherPaths.registration,
      purpose: 'make an account',
      lead: 'Your administrator can tell you its name.',
      typed: tenantId,
      problem: unnamed,
      fields: [],
    });
  if (await isClosed(context, tenantId, 'registers')) return sendNoRegistration(context, place);
  return query.has('sent') ? sendDone(context, place) : sendForm(context, place);
};

/** `POST /register`: asks for the mail. The answer is the same whether or not there is such an account. */
const act: PageHandler = async (context) => {
  const { app, request, reply, gateway } = context;
  const form = readForm(request);
  const place = placeOf(context, form);
  const { tenantId, interactionId } = place;
  checkForm(app, request, form, purpose.register(tenantId, interactionId));
  if (await isClosed(context, tenantId, 'registers')) return sendNoRegistration(context, place);
  const email = shownParameter(form, 'email');
  if (email === '') return sendForm(context, place, { problem: 'Enter an email address.', typed: email });
  await countMailRequest(context);
  const { ipAddress, requestId, tenant } = request.incoming;
  const language = languageOf(request, gateway.languages);
  const asked = {
    tenantId,
    issuerTenantId: tenant?.tenantId ?? '',
    email,
    language,
    interactionId,
    ipAddress,
  };
  try {
    await gateway.peers.directory.requestRegistration(asked, rootCall(requestId));
  } catch (error) {
    const problem = problemOf(error);
    return problem === undefined
      ? sendNoRegistration(context, place)
      : sendForm(context, place, { problem, typed: email });
  }
  return redirectToPage(
    reply,
    registrationPath({
      tenant: tenant ? undefined : tenantId,
      interaction: interactionId || undefined,
      sent: '1',
    }),
  );
};

export const registrationPage = { load, act } satisfies GatewayPage;

function placeOf({ request }: PageContext, given: ReadonlyMap<string, string>): Place {
  return {
    tenantId: request.incoming.tenant?.tenantId ?? shownParameter(given, 'tenant'),
    interactionId: shownParameter(given, 'interaction'),
  };
}

/** What is wrong with an address; undefined if no account can be made there. Throws for everything else. */
function problemOf(error: unknown): string | undefined {
  if (!(error instanceof ConnectError)) throw error;
  const [violation] = fieldViolations(error);
  if (violation !== undefined)
    return violation.description === 'must be an e-mail address'
      ? 'Enter an email address.'
      : 'Your organization takes no registration with this address.';
  if (isRefusal(error)) return undefined;
  throw error;
}

function sendForm(
  context: PageContext,
  { tenantId, interactionId }: Place,
  { problem, typed }: { readonly problem?: string; readonly typed?: string } = {},
): FastifyReply {
  const { request, reply, gateway, row } = context;
  const page: Page = {
    template: 'register',
    title: row.title,
    message: problem ?? 'Enter an email address.',
    formTarget: row.formTarget,
    tenant: { id: tenantId, name: '' },
    data: {
      path: otherPaths.registration,
      problem,
      typed,
      fields: fieldsOfForm(context, purpose.register(tenantId, interactionId), [
        { name: 'tenant', value: tenantId },
        { name: 'interaction', value: interactionId },
      ]),
    },
  };
  return problem === undefined
    ? sendPage(request, reply, gateway, page)
    : sendPageError(request, reply, gateway, new OAuthError('invalid_request', problem), page);
}

const sendNoRegistration = (context: PageContext, { tenantId, interactionId }: Place): FastifyReply =>
  sendClosed(context, tenantId, {
    title: 'You cannot create an account here',
    message: 'Your organization does not let people create accounts themselves.',
    advice: 'Ask your administrator for an account.',
    back: backTo(interactionId),
  });

/** The sign-in that somebody came from. */
const backTo = (interactionId: string) => (interactionId === '' ? undefined : loginPath(interactionId));

function sendDone({ request, reply, gateway }: PageContext, { interactionId }: Place): FastifyReply {
  return sendPage(request, reply, gateway, {
    template: 'notice',
    title: 'Check your email',
    message: "If you can use this address here, we've sent a link to it. It works for one day.",
    formTarget: 'own',
    data: {
      advice: 'Open the link in this browser to go on where you were.',
      back: backTo(interactionId),
    },
  });
}
