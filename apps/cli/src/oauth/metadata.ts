import { CommandError, type Terminal } from '../terminal.ts';

/** The metadata of an authorization server that the flows use (RFC 8414 §2). */
export interface Metadata {
  readonly issuer: string;
  readonly token_endpoint: string;
  readonly device_authorization_endpoint?: string;
  readonly backchannel_authentication_endpoint?: string;
}

const timeoutMs = 10_000;

/** Fetches the metadata from its well-known URL (RFC 8414 §3.1). Throws CommandError. */
export async function discover(issuer: string, { fetch }: Pick<Terminal, 'fetch'>): Promise<Metadata> {
  const url = metadataUrl(issuer);
  let answer: Response;
  try {
    answer = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(timeoutMs) });
  } catch {
    throw new CommandError(`Nothing answers at ${url.href}. Is --issuer right?`);
  }
  if (!answer.ok) throw new CommandError(`${url.href} answers with status ${answer.status}.`);
  const document = (await answer.json().catch(() => undefined)) as Partial<Metadata> | undefined;
  // RFC 8414 §3.3: metadata of another issuer must not be used.
  if (document?.issuer !== issuer) throw new CommandError(`${url.href} is not the metadata of ${issuer}.`);
  if (document.token_endpoint === undefined) throw new CommandError(`${url.href} names no token endpoint.`);
  return { ...document, issuer, token_endpoint: document.token_endpoint };
}

function metadataUrl(issuer: string): URL {
  const url = URL.parse(issuer);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new CommandError(`${issuer} is not an http(s) URL.`);
  const path = url.pathname === '/' ? '' : url.pathname;
  return new URL(`/.well-known/oauth-authorization-server${path}`, url);
}
