import type { FastifyReply } from 'fastify';
import { OAuthError } from '@tessera/oauth';
import { Code, ConnectError } from '@tessera/rpc';
import { addressKey } from '@tessera/stores';
import type { PageContext } from '../page-context.ts';
import { sendPageError } from '../page.ts';

const windowSeconds = 3600;

/** Throws `rate_limited` for an address that asks for much mail. */
export async function countRequest({ request, gateway }: PageContext): Promise<void> {
  const limit = gateway.config.TESSERA_MAIL_REQUESTS_PER_ADDRESS;
  const rule = { name: 'mail.address', limit, windowSeconds };
  const { allowed, retryAfterSeconds } = await gateway.limiter.consume(
    rule,
    addressKey(request.incoming.ipAddress),
  );
  if (!allowed)
    throw new OAuthError('rate_limited', 'Too many attempts. Try again later.', { retryAfterSeconds });
}

/**
 * Whether nobody is mailed a link there to make an account (`registers`) or to choose a new password (`recovers`); a directory that does not
 * say it looks at each request.
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
