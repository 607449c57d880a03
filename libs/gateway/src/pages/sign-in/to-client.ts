import type { FastifyReply } from 'fastify';
import type { Redirect } from '@tessera/proto-gen/authorize';
import { servedApplication } from '../described-application.ts';
import type { PageContext } from '../page-context.ts';
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
export async function sendToClient(
  context: Pick<PageContext, 'request' | 'reply' | 'gateway'>,
  { location, formPost }: Redirect,
): Promise<FastifyReply> {
  const { reply, gateway } = context;
  if (formPost === undefined) return reply.header('cache-control', 'no-store').redirect(location, 302);
  const { uri, parameters, clientId } = formPost;
  const found = await servedApplication(context, clientId);
  sendHtmlPage(reply, gateway, {
    template: 'form-post',
    title: 'Back to the application',
    message: 'You will be sent back to the application.',
    formTarget: { origin: formActionSource(uri) },
    script: true,
    ...(found?.tenant && { tenant: { id: found.tenant.tenantId, name: found.tenant.name } }),
    data: {
      uri,
      application: found?.application?.name,
      fields: Object.entries(parameters).map(([name, value]) => ({ name, value })),
    },
  });
  return reply;
}
