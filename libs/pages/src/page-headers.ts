import type { FastifyReply } from 'fastify';

/** The policy without the target of forms: no script, styles and images only from our own files. */
const baseContentPolicy =
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/**
 * Where a page's forms may lead. Browsers of the Chromium family apply `form-action` to every redirect that follows a
 * form, and a sign-in ends wherever the client's redirect URI, and what the client redirects to next, leads. So a page
 * whose form may leave for a client cannot carry the directive; the others do. A form that only posts a response to a
 * client may go to that client's origin alone.
 */
export type FormTarget = 'own' | 'client' | { readonly origin: string };

const ownScript = "script-src 'self'; connect-src 'self'";

/** Headers of every HTML answer. */
export function pageHeaders(reply: FastifyReply, formTarget: FormTarget, script = false): void {
  reply.headers(headersOfPage(formTarget, script));
}

/** As `pageHeaders`, for an answer that is written without the framework. */
export function headersOfPage(formTarget: FormTarget, script = false): Readonly<Record<string, string>> {
  const policy = [
    baseContentPolicy,
    ...(script ? [ownScript] : []),
    ...(formTarget === 'client'
      ? []
      : [`form-action ${formTarget === 'own' ? "'self'" : formTarget.origin}`]),
  ];
  return {
    'cache-control': 'no-store',
    'content-security-policy': policy.join('; '),
    // A client that checks `Origin` must be able to know ours; `no-referrer` would make it `null`.
    'referrer-policy': typeof formTarget === 'object' ? 'origin' : 'no-referrer',
    'x-frame-options': 'DENY',
    vary: 'Accept',
  };
}
