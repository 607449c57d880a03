import type { FastifyReply } from 'fastify';
import { OAuthError, otherPaths } from '@tessera/oauth';
import type { Session } from '@tessera/proto-gen/authorize';
import { Code, ConnectError, rootCall } from '@tessera/rpc';
import { readForm, readQuery, redirectToPage, shownParameter } from '@tessera/pages';
import { checkForm, fieldsOfForm, purpose } from '../form.ts';
import type { GatewayPage, PageContext, PageHandler } from '../page-context.ts';
import { sendPage, sendPageError } from '../send-page.ts';
import { signedInAt, signedInPerson } from '../signed-in-person.ts';

/**
 * `GET /email/link`: asks whether an address is that of the person who is signed in. Whoever was mailed a link for the
 * account of somebody else cannot confirm it, so that nobody gets an address verified that is not theirs. Looking at it
 * changes nothing.
 */
const load: PageHandler = async (context) => {
  const { request, gateway } = context;
  const query = readQuery(request);
  if (query.has('confirmed')) return sendDone(context);
  const link = shownParameter(query, 'link');
  const person = link === '' ? undefined : await signedInPerson(context);
  if (person === undefined) return sendGone(context);
  const found = await unlessGone(
    gateway.peers.directory.getEmailLink(linkOf(person.session, link), rootCall(request.incoming.requestId)),
  );
  return found === undefined ? sendGone(context) : sendForm(context, person.session, link, found.email);
};

/** `POST /email/link`: confirms the address, once. */
const act: PageHandler = async (context) => {
  const { app, request, reply, gateway } = context;
  const form = readForm(request);
  const link = shownParameter(form, 'link');
  const person = await signedInPerson(context);
  if (person === undefined) return sendGone(context);
  const { session } = person;
  checkForm(app, request, form, purpose.confirmEmail(session.userId, link));
  const { ipAddress, requestId } = request.incoming;
  const confirmed = await unlessGone(
    gateway.peers.directory.confirmEmail(
      { ...linkOf(session, link), authTime: BigInt(signedInAt(session)), ipAddress },
      rootCall(requestId),
    ),
  );
  if (confirmed === undefined) return sendGone(context);
  return redirectToPage(reply, `${otherPaths.emailLink}?confirmed=1`);
};

export const emailLinkPage = { load, act } satisfies GatewayPage;

const linkOf = ({ tenantId, userId }: Session, link: string) => ({ tenantId, userId, link });

/** Undefined for a link that is unknown, used, expired or of somebody else. */
async function unlessGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    if (error.code === Code.NotFound || error.code === Code.FailedPrecondition) return undefined;
    throw error;
  }
}

function sendForm(
  context: PageContext,
  { tenantId, userId, username }: Session,
  link: string,
  email: string,
): FastifyReply {
  const { request, reply, gateway, row } = context;
  return sendPage(request, reply, gateway, {
    template: 'email-link',
    title: row.title,
    message: 'Confirm the address',
    formTarget: row.formTarget,
    tenant: { id: tenantId, name: '' },
    data: {
      path: otherPaths.emailLink,
      username,
      email,
      fields: fieldsOfForm(context, purpose.confirmEmail(userId, link), [{ name: 'link', value: link }]),
    },
  });
}

function sendDone({ request, reply, gateway }: PageContext): FastifyReply {
  return sendPage(request, reply, gateway, {
    template: 'notice',
    title: 'Your email address is confirmed',
    message: 'Mail goes to it from now on.',
    formTarget: 'own',
    data: { advice: 'You can close this page.' },
  });
}

function sendGone({ request, reply, gateway }: PageContext): FastifyReply {
  const message = 'The link was used, has expired, or was replaced by a newer one.';
  return sendPageError(request, reply, gateway, new OAuthError('invalid_request', message), {
    template: 'notice',
    title: 'This link is not valid',
    message,
    formTarget: 'own',
    data: {
      advice:
        'Sign in to your account in this browser, then open the link again. If you are signed in, ask for a new link at your account.',
    },
  });
}
