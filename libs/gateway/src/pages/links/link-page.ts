import type { FastifyReply } from 'fastify';
import { OAuthError, otherPaths } from '@tessera/oauth';
import type { GetPasswordLinkResponse } from '@tessera/proto-gen/directory';
import { Code, ConnectError, rootCall } from '@tessera/rpc';
import { readForm, readQuery, redirectToPage, shownParameter } from '@tessera/pages';
import { checkForm, purpose } from '../form.ts';
import type { GatewayPage, PageContext, PageHandler } from '../page-context.ts';
import { sendPage, sendPageError } from '../send-page.ts';
import { loginPath, passwordLinkPath } from '../paths.ts';
import { isTenantId } from '../tenant-form.ts';
import { chosenPassword, notePasswordSet, sendPasswordForm, takePasswordSet } from './new-password.ts';

/**
 * `GET /password/link`: the form of a one-time link, or what became of it. Looking at it changes nothing, as mail
 * scanners open links too.
 */
const load: PageHandler = async (context) => {
  const query = readQuery(context.request);
  const opened = openedBy(query);
  const { link } = opened;
  const set = link === '' ? takePasswordSet(context) : undefined;
  if (set !== undefined) return sendDone(context, set, shownParameter(query, 'tenant'));
  const found = await findLink(context, link);
  return found === undefined ? sendGone(context) : sendForm(context, opened, found);
};

/** `POST /password/link`: sets the password, or enrols a passkey in its place, once. */
const act: PageHandler = async (context) => {
  const { app, request, reply, gateway } = context;
  const form = readForm(request);
  const opened = openedBy(form);
  const { link, interaction } = opened;
  checkForm(app, request, form, purpose.usePasswordLink(link));
  const found = await findLink(context, link);
  if (found === undefined) return sendGone(context);
  const passkey = form.get('passkey_created') ?? '';
  const { password, problem } = passkey === '' ? chosenPassword(form) : { password: '', problem: undefined };
  if (problem !== undefined) return sendForm(context, opened, found, problem);
  const { ipAddress, requestId } = request.incoming;
  const passkeyNonce = form.get('passkey_nonce') ?? '';
  const redeemed = await unlessGone(
    gateway.peers.directory.redeemPasswordLink(
      { ...presented(context, link), password, passkey, passkeyNonce, ipAddress },
      rootCall(requestId),
    ),
  );
  if (redeemed === undefined) return sendGone(context);
  const { passwordProblem, passkeyRefused } = redeemed;
  if (passkeyRefused) return sendForm(context, opened, found, 'No passkey was created. Try again.');
  if (passwordProblem !== '') return sendForm(context, opened, found, `The password ${passwordProblem}.`);
  if (interaction !== '') return redirectToPage(reply, loginPath(interaction));
  notePasswordSet(context, passkey === '' ? 'password' : 'passkey');
  return redirectToPage(reply, passwordLinkPath(request.incoming.tenant === undefined ? found.tenantId : ''));
};

export const passwordLinkPage = { load, act } satisfies GatewayPage;

/** What a link carries. */
interface Opened {
  readonly link: string;
  /** The visit that the person goes on with; empty without one. */
  readonly interaction: string;
}

function openedBy(parameters: ReadonlyMap<string, string>): Opened {
  return {
    link: shownParameter(parameters, 'link'),
    interaction: shownParameter(parameters, 'interaction'),
  };
}

/** A link, and where it was opened. */
const presented = ({ request: { incoming } }: PageContext, link: string) => ({
  link,
  tenantId: incoming.tenant?.tenantId ?? '',
  issuer: incoming.issuer(),
});

async function findLink(context: PageContext, link: string): Promise<GetPasswordLinkResponse | undefined> {
  const { request, gateway } = context;
  if (link === '') return undefined;
  return unlessGone(
    gateway.peers.directory.getPasswordLink(presented(context, link), rootCall(request.incoming.requestId)),
  );
}

/** Undefined for a link that is unknown, used, expired or no longer valid. */
async function unlessGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    if (error.code === Code.NotFound) return undefined;
    throw error;
  }
}

const titles: Readonly<Record<string, string>> = {
  invitation: 'Welcome',
  registration: 'Create your account',
};

function sendForm(
  context: PageContext,
  { link, interaction }: Opened,
  {
    tenantId,
    tenantName,
    username,
    purpose: reason,
    passkeyOptions: options,
    passkeyNonce: nonce,
  }: GetPasswordLinkResponse,
  problem?: string,
): FastifyReply {
  return sendPasswordForm(context, {
    title: titles[reason] ?? context.row.title,
    lead:
      reason !== 'reset'
        ? 'Choose the password for your account at <b>{name}</b>'
        : 'For your account at <b>{name}</b>',
    leadName: tenantName,
    tenant: { id: tenantId, name: tenantName },
    path: otherPaths.passwordLink,
    purpose: purpose.usePasswordLink(link),
    username,
    asksForPresent: false,
    fields: [
      { name: 'link', value: link },
      { name: 'interaction', value: interaction },
    ],
    problem,
    passkey: options === '' ? undefined : { options, nonce },
  });
}

/** @param tenantId where they sign in; empty at an issuer of its own, or if it is not known */
function sendDone(
  { request, reply, gateway }: PageContext,
  set: 'password' | 'passkey',
  tenantId: string,
): FastifyReply {
  return sendPage(request, reply, gateway, {
    template: 'notice',
    title: set === 'passkey' ? 'Your passkey is ready' : 'Your password is set',
    message: 'Sign in with it from now on.',
    formTarget: 'own',
    ...(isTenantId(tenantId) && { tenant: { id: tenantId } }),
    data: {
      advice: 'Open the application you want to use and start from there.',
      onward: 'Sign in to your account',
    },
  });
}

/** One page for all of them: it tells nobody whether a link ever existed. */
function sendGone({ request, reply, gateway }: PageContext): FastifyReply {
  const error = new OAuthError(
    'invalid_request',
    'The link was used, has expired, or was replaced by a newer one.',
  );
  return sendPageError(request, reply, gateway, error, {
    template: 'notice',
    title: 'This link is not valid',
    message: error.message,
    formTarget: 'own',
    data: {
      advice:
        'If you have set your password, open the application you want to use and sign in there. Otherwise ask your administrator for a new link.',
    },
  });
}
