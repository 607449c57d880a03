import type { FastifyReply } from 'fastify';
import { rootCall } from '@tessera/rpc';
import { OwnPage_Name, type Session } from '@tessera/proto-gen/authorize';
import type { PendingRequest } from '@tessera/proto-gen/device';
import { readForm, readQuery, redirectToPage, shownParameter } from '@tessera/pages';
import { decideFromForm, takeOutcome, type Outcome } from './decision.ts';
import { checkForm, fieldsOfForm, purpose } from '../form.ts';
import { organizationName } from '../organization-name.ts';
import type { GatewayPage, PageHandler, PageContext } from '../page-context.ts';
import { sendPage } from '../send-page.ts';
import { approvalsPath } from '../paths.ts';
import { personName, signedInPerson } from '../signed-in-person.ts';
import { describeRequest } from './request-description.ts';
import type { ResumedPlace } from '../sign-in/resumed-place.ts';
import { signInToPage } from '../sign-in/sign-in-place.ts';
import { continueSignIn, sendElsewhere, sendSignIn } from '../sign-in/sign-in.ts';
import { pageOfForm } from '../sign-in/steps/step-pages.ts';
import { sendTenantForm, tenantProblem } from '../tenant-form.ts';

/**
 * `GET /approvals`: the pending backchannel requests of the signed-in person (CIBA Core §7.1). No client leads here, so
 * a person who is not signed in names the tenant: by the link they received, or on the page.
 */
const load: PageHandler = async (context) => {
  const { request, reply, gateway } = context;
  const tenantId = request.incoming.tenant?.tenantId ?? shownParameter(readQuery(request), 'tenant');
  const elsewhere = request.incoming.tenant === undefined ? gateway.tenants.issuerOf(tenantId) : undefined;
  if (elsewhere !== undefined) {
    return reply.header('cache-control', 'no-store').redirect(elsewhere + approvalsPath(), 302);
  }
  const person = await signedInPerson(context);
  if (person === undefined) {
    const problem = await tenantProblem(context, tenantId);
    return problem === undefined
      ? sendSignIn(context, signInFor(tenantId), undefined)
      : sendTenantForm(context, {
          path: '/approvals',
          purpose: 'review your requests',
          lead: 'You can find it in the link you received, or ask your administrator.',
          typed: tenantId,
          problem,
          fields: [],
        });
  }
  if (tenantId !== '' && tenantId !== person.session.tenantId)
    return sendElsewhere(context, signInFor(tenantId));
  if (!person.fresh) return sendSignIn(context, signInFor(person.session.tenantId), person);
  const named = shownParameter(readQuery(request), 'request');
  return sendList(context, person.session, named, takeOutcome(context));
};

/** `POST /approvals`: signs in, or decides one request. */
const act: PageHandler = async (context) => {
  const { app, request, gateway } = context;
  const form = readForm(request);
  if (pageOfForm(form) !== undefined) {
    const tenantId = shownParameter(form, 'tenant');
    checkForm(app, request, form, purpose.signInTo(tenantId));
    const place = signInFor(tenantId, shownParameter(form, 'client_id'));
    const answer = await continueSignIn(context, place, form);
    return answer === 'signed_in' ? redirect(context) : answer;
  }
  const person = await signedInPerson(context);
  // The session ended or became too old in the meantime: sign in first, then show the list again.
  if (person?.fresh !== true) return redirect(context);
  const signIn = (clientId: string) => signInFor(person.session.tenantId, clientId);
  const answer = await decideFromForm(context, form, person, signIn, (call, options) =>
    gateway.peers.backchannel.decideBackchannelAuthentication(call, options),
  );
  return answer === 'decided' ? redirect(context) : answer;
};

export const approvalsPage = { load, act } satisfies GatewayPage;

/** Goes on after a sign-in at a provider. */
export function resumeApprovals(context: PageContext, fields: ReadonlyMap<string, string>): ResumedPlace {
  const place = signInFor(shownParameter(fields, 'tenant'), shownParameter(fields, 'client_id'));
  return { place, signedIn: () => redirect(context) };
}

function redirect({ reply }: PageContext): FastifyReply {
  return redirectToPage(reply, approvalsPath());
}

function signInFor(tenantId: string, clientId = '') {
  return signInToPage({
    path: '/approvals',
    page: { name: OwnPage_Name.APPROVALS, tenantId, clientId },
    lead: 'Review requests to your account at <b>{name}</b>.',
    subject: tenantId,
    fields: [
      { name: 'tenant', value: tenantId },
      { name: 'client_id', value: clientId },
    ],
  });
}

const notices: Readonly<Record<Outcome, string>> = {
  approved: 'You approved the request.',
  denied: 'You denied the request.',
  over: 'The request was no longer pending.',
};

const waitingRequests =
  '{count, plural, =0 {Nothing is waiting for you.} one {One request is waiting for you.} other {# requests are waiting for you.}}';

/** Shows one request with its buttons, that which is `named` or else the first, and the others by name. */
async function sendList(
  context: PageContext,
  session: Session,
  named: string,
  outcome: Outcome | undefined,
): Promise<FastifyReply> {
  const { request, reply, gateway, row } = context;
  const { tenantId, userId } = session;
  const waiting = await gateway.peers.backchannel.listBackchannelAuthentications(
    { tenantId, userId },
    rootCall(request.incoming.requestId),
  );
  const isNamed = ({ requestId }: PendingRequest) => requestId === named;
  const pending = waiting.requests.toSorted((one, other) => Number(isNamed(other)) - Number(isNamed(one)));
  const isOver = named !== '' && !pending.some(isNamed);
  const described = await Promise.all(pending.map(async (each) => describeRequest(context, each)));
  const requests = described.map(({ description }) => ({
    ...description,
    fields: fieldsOfForm(context, purpose.decide(description.requestId), [
      { name: 'request', value: description.requestId },
      { name: 'client_id', value: description.clientId },
    ]),
  }));
  const organization = await organizationName(gateway, tenantId, described[0]?.tenantName);
  return sendPage(request, reply, gateway, {
    template: 'approvals',
    title: row.title,
    message: gateway.languages.of('en').t(waitingRequests, { count: requests.length }),
    formTarget: row.formTarget,
    script: true,
    tenant: { id: tenantId, name: organization },
    data: {
      requests,
      summary: waitingRequests,
      notice: isOver ? notices.over : outcome && notices[outcome],
      person: { name: personName(session), organization },
      signOut: fieldsOfForm(context, purpose.signOut, [
        { name: 'going', value: 'approvals' },
        { name: 'tenant', value: tenantId },
      ]),
    },
  });
}
