import type { FastifyReply } from 'fastify';
import { OAuthError, otherPaths } from '@tessera/oauth';
import { rootCall } from '@tessera/rpc';
import { languageOf, readForm, readQuery, redirectToPage, shownParameter } from '@tessera/pages';
import { sendTenantForm, tenantProblem } from '../tenant-form.ts';
import { countMailRequest } from '../count-mail-request.ts';
import { checkForm, fieldsOfForm, purpose } from '../form.ts';
import type { GatewayPage, PageContext, PageHandler } from '../page-context.ts';
import { sendPage, sendPageError, type Page } from '../send-page.ts';
import { forgottenPasswordPath } from '../paths.ts';
import { isClosed, isRefusal, sendClosed } from './mail-request.ts';

const closed = {
  title: 'You cannot reset your password here',
  message: "Your organization doesn't send email to its people.",
  advice: 'Ask your administrator for a link with which you choose a new password.',
};

/** `GET /password/forgot`: asks whose password it is, or says what comes next. */
const load: PageHandler = async (context) => {
  const { request, reply, gateway } = context;
  const query = readQuery(request);
  const tenantId = request.incoming.tenant?.tenantId ?? shownParameter(query, 'tenant');
  const elsewhere = request.incoming.tenant === undefined ? gateway.tenants.issuerOf(tenantId) : undefined;
  if (elsewhere !== undefined)
    return reply.header('cache-control', 'no-store').redirect(elsewhere + forgottenPasswordPath(), 302);
  const unnamed = await tenantProblem(context, tenantId);
  if (unnamed !== undefined)
    return sendTenantForm(context, {
      path: otherPaths.forgottenPassword,
      purpose: 'choose a new password',
      lead: 'Your administrator can tell you its name.',
      typed: tenantId,
      problem: unnamed,
      fields: [],
    });
  if (await isClosed(context, tenantId, 'recovers')) return sendClosed(context, tenantId, closed);
  return query.has('sent') ? sendDone(context) : sendForm(context, tenantId);
};

/** `POST /password/forgot`: asks for the mail. The answer is the same whether or not there is such an account. */
const act: PageHandler = async (context) => {
  const { app, request, reply, gateway } = context;
  const form = readForm(request);
  const tenantId = shownParameter(form, 'tenant');
  checkForm(app, request, form, purpose.forgottenPassword(tenantId));
  if (await isClosed(context, tenantId, 'recovers')) return sendClosed(context, tenantId, closed);
  const identifier = shownParameter(form, 'identifier');
  if (identifier === '')
    return sendForm(context, tenantId, 'Enter your user name, email address or phone number.');
  await countMailRequest(context);
  const { ipAddress, requestId, tenant } = request.incoming;
  try {
    await gateway.peers.directory.requestPasswordReset(
      {
        tenantId,
        issuerTenantId: tenant?.tenantId ?? '',
        identifier,
        language: languageOf(request, gateway.languages),
        ipAddress,
      },
      rootCall(requestId),
    );
  } catch (error) {
    if (isRefusal(error)) return sendClosed(context, tenantId, closed);
    throw error;
  }
  return redirectToPage(reply, forgottenPasswordPath({ tenant: tenant ? undefined : tenantId, sent: '1' }));
};

export const forgottenPasswordPage = { load, act } satisfies GatewayPage;

function sendForm(context: PageContext, tenantId: string, problem?: string): FastifyReply {
  const { request, reply, gateway, row } = context;
  const page: Page = {
    template: 'forgotten-password',
    title: row.title,
    message: problem ?? 'Enter your user name, email address or phone number.',
    formTarget: row.formTarget,
    tenant: { id: tenantId, name: '' },
    data: {
      path: otherPaths.forgottenPassword,
      problem,
      fields: fieldsOfForm(context, purpose.forgottenPassword(tenantId), [
        { name: 'tenant', value: tenantId },
      ]),
    },
  };
  return problem === undefined
    ? sendPage(request, reply, gateway, page)
    : sendPageError(request, reply, gateway, new OAuthError('invalid_request', problem), page);
}

function sendDone({ request, reply, gateway }: PageContext): FastifyReply {
  return sendPage(request, reply, gateway, {
    template: 'notice',
    title: 'Check your email',
    message: "If there's such an account, we've sent a link to its email address. It works for one hour.",
    formTarget: 'own',
    data: {
      advice: 'No email after a few minutes? Look in your spam folder, or ask your administrator.',
    },
  });
}
