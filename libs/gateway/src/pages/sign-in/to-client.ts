import type { FastifyReply } from 'fastify';
import type { Redirect } from '@tessera/proto-gen/authorize';
import type { Gateway } from '../../gateway.ts';
import { sendHtmlPage } from '../send-page.ts';

/**
 * The origin of a redirect URI as a source of `form-action`. The grammar has no IPv6 addresses (CSP3 §2.3.1), so for
 * `[::1]` it is any host with that scheme and port.
 */
function formActionSource(uri: string): string {
  return new URL(uri).origin.replace(/\[.+\]/, '*');
}

/**
 * Sends the browser to the client with an authorization response: by redirect, or with a page that posts itself (OAuth
 * 2.0 Form Post Response Mode §2). The contract asks for 302, also after a form; browsers follow it with GET as they do
 * a 303 (RFC 9110 §15.4.3).
 */
export function sendToClient(
  reply: FastifyReply,
  gateway: Gateway,
  { location, formPost }: Redirect,
): FastifyReply {
  if (formPost === undefined) return reply.header('cache-control', 'no-store').redirect(location, 302);
  const { uri, parameters } = formPost;
  sendHtmlPage(reply, gateway, {
    template: 'form-post',
    title: 'Back to the application',
    message: 'You will be sent back to the application.',
    formTarget: { origin: formActionSource(uri) },
    script: true,
    data: { uri, fields: Object.entries(parameters).map(([name, value]) => ({ name, value })) },
  });
  return reply;
}
