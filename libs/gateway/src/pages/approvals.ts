import type { FastifyReply } from 'fastify';
import { rootCall } from '@tessera/rpc';
import type { Session } from '@tessera/proto-gen/authorize';
import { readQuery } from '../http/query.ts';
import { decideFromForm, takeOutcome, type Outcome } from './decision.ts';
import { attemptSignIn, sendElsewhere, sendSignIn, type DirectSignIn } from './direct-sign-in.ts';
import { antiForgeryField, checkForm, purpose, readForm } from './form.ts';
import type { PageHandler, Visit } from './handler.ts';
import { sendPage } from './page.ts';
import { approvalsPath } from './paths.ts';
import { personName, requireBrowserId, signedInPerson } from './person.ts';
import { viewRequest } from './request-view.ts';

/**
 * `GET /approvals`: the backchannel requests that wait for the signed-in person (CIBA Core §7.1). Nobody's client leads here, so
 * whoever is not signed in says for which tenant they come: by the link they got, or on the page.
 */
export const showApprovals: PageHandler = async (visit) => {
  const tenantId = readQuery(visit.request).get('tenant') ?? '';
  const person = await signedInPerson(visit);
  if (person === undefined) {
    return isTenantId(tenantId)
      ? sendSignIn(visit, signInFor(tenantId), undefined)
      : sendTenantForm(visit, tenantId);
  }
  if (tenantId !== '' && tenantId !== person.session.tenantId)
    return sendElsewhere(visit, signInFor(tenantId));
  if (!person.fresh) return sendSignIn(visit, signInFor(person.session.tenantId), person);
  return sendList(visit, person.session, takeOutcome(visit));
};

/** `POST /approvals`: signs in, or decides one request. */
export const submitApprovals: PageHandler = async (visit) => {
  const { app, request, gateway } = visit;
  const form = readForm(request);
  if (form.has('password')) {
    const tenantId = form.get('tenant') ?? '';
    checkForm(app, request, form, purpose.signInTo(tenantId), gateway);
    const answer = await attemptSignIn(visit, signInFor(tenantId), form);
    return answer === 'signed_in' ? redirect(visit) : answer;
  }
  const person = await signedInPerson(visit);
  // Signed out or too long ago meanwhile: ask, and show again what waits.
  if (person?.fresh !== true) return redirect(visit);
  const signIn = signInFor(person.session.tenantId);
  const answer = await decideFromForm(visit, form, person, signIn, (call, options) =>
    gateway.peers.backchannel.decideBackchannelAuthentication(call, options),
  );
  return answer === 'decided' ? redirect(visit) : answer;
};

function redirect({ reply }: Visit): FastifyReply {
  return reply.header('cache-control', 'no-store').redirect(approvalsPath(), 303);
}

function isTenantId(text: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,62}$/.test(text);
}

function signInFor(tenantId: string): DirectSignIn {
  const fields = [{ name: 'tenant', value: tenantId }];
  return { path: '/approvals', tenantId, lead: 'to see what waits for you', subject: tenantId, fields };
}

function sendTenantForm({ request, reply, gateway }: Visit, typed: string): FastifyReply {
  const page = {
    view: 'approvals-tenant',
    title: 'Your organization',
    message: 'Say for which organization you come, to sign in and see what waits for you.',
    formTarget: 'own',
    data: { typed, problem: typed === '' ? undefined : 'This cannot be the name of an organization.' },
  } as const;
  return sendPage(request, reply, gateway, page);
}

const notices: Readonly<Record<Outcome, string>> = {
  approved: 'You approved the request.',
  denied: 'You denied the request.',
  over: 'The request was not waiting any more.',
};

async function sendList(visit: Visit, session: Session, outcome: Outcome | undefined): Promise<FastifyReply> {
  const { request, reply, gateway } = visit;
  const { tenantId, userId } = session;
  const waiting = await gateway.peers.backchannel.listBackchannelAuthentications(
    { tenantId, userId },
    rootCall(request.incoming.requestId),
  );
  const browserId = requireBrowserId(visit);
  const token = (of: string) => gateway.antiForgery.token(browserId, of);
  const viewed = await Promise.all(waiting.requests.map((pending) => viewRequest(visit, pending)));
  const requests = viewed.map(({ view }) => ({
    ...view,
    fields: [
      { name: antiForgeryField, value: token(purpose.decide(view.requestId)) },
      { name: 'request', value: view.requestId },
    ],
  }));
  return sendPage(request, reply, gateway, {
    view: 'approvals',
    title: 'Approvals',
    message: summary(requests.length),
    formTarget: 'own',
    script: true,
    tenant: { id: tenantId, name: viewed[0]?.tenantName ?? '' },
    data: {
      requests,
      notice: outcome && notices[outcome],
      person: { name: personName(session), tenantId },
      signOut: [
        { name: antiForgeryField, value: token(purpose.signOut) },
        { name: 'going', value: 'approvals' },
        { name: 'tenant', value: tenantId },
      ],
    },
  });
}

function summary(count: number): string {
  if (count === 0) return 'Nothing is waiting for you.';
  return count === 1 ? 'One request is waiting for you.' : `${count} requests are waiting for you.`;
}
