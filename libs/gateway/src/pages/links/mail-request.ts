import type { FastifyReply } from 'fastify';
import { OAuthError } from '@tessera/oauth';
import { Code, ConnectError } from '@tessera/rpc';
import type { PageContext } from '../page-context.ts';
import { sendPageError } from '../send-page.ts';

/**
 * Whether nobody is mailed a link there to make an account (`registers`) or to choose a new password (`recovers`); a
 * directory that does not say it looks at each request.
 */
export async function isClosed(
  { gateway }: PageContext,
  tenantId: string,
  offer: 'registers' | 'recovers',
): Promise<boolean> {
  const looks = await gateway.looks.find(tenantId);
  return looks === 'unknown' || looks?.[offer] === false;
}

/** Whether the directory refuses to mail anybody of a tenant. */
export function isRefusal(error: unknown): boolean {
  return (
    error instanceof ConnectError && (error.code === Code.NotFound || error.code === Code.FailedPrecondition)
  );
}

/** Says that a tenant does not offer it. */
export function sendClosed(
  { request, reply, gateway }: PageContext,
  tenantId: string,
  {
    title,
    message,
    ...data
  }: {
    readonly title: string;
    readonly message: string;
    readonly advice: string;
    readonly back?: string | undefined;
  },
): FastifyReply {
  return sendPageError(request, reply, gateway, new OAuthError('not_found', 'Page not found'), {
    template: 'notice',
    title,
    message,
    formTarget: 'own',
    tenant: { id: tenantId, name: '' },
    data,
  });
}
