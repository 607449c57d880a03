import { CommandError, type Terminal } from '../terminal.ts';

/** The client the command acts as. */
export interface OAuthClient {
  readonly clientId: string;
  /** Absent for a public client. */
  readonly clientSecret: string | undefined;
}

/** A JSON answer of an endpoint. */
export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** Seconds the server asks to wait. */
  readonly retryAfter: number | undefined;
}

const timeoutMs = 15_000;

/**
 * Sends a form as the client: with HTTP Basic if it has a secret (RFC 6749 §2.3.1), otherwise with its identifier. Undefined if no
 * response arrived.
 */
export async function post(
  url: string,
  client: OAuthClient,
  parameters: Readonly<Record<string, string | undefined>>,
  { fetch }: Pick<Terminal, 'fetch'>,
): Promise<Answer | undefined> {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) form.set(name, value);
  const headers: Record<string, string> = { accept: 'application/json' };
  if (client.clientSecret === undefined) form.set('client_id', client.clientId);
  else headers['authorization'] = basic(client.clientId, client.clientSecret);
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const answer = await fetch(url, { method: 'POST', headers, body: form, redirect: 'error', signal });
    const body = (await answer.json()) as Record<string, unknown>;
    const retryAfter = Number(answer.headers.get('retry-after') ?? Number.NaN);
    return { status: answer.status, body, retryAfter: Number.isFinite(retryAfter) ? retryAfter : undefined };
  } catch {
    return undefined;
  }
}

/** Like `post` for a request that must succeed. Throws CommandError with the server's error. */
export async function postOnce(...args: Parameters<typeof post>): Promise<Answer['body']> {
  const answer = await post(...args);
  if (answer === undefined) throw new CommandError(`${args[0]} does not answer.`);
  if (answer.status !== 200) throw new CommandError(refusal(answer));
  return answer.body;
}

/** An error response on one line (RFC 6749 §5.2). */
export function refusal({ status, body }: Answer): string {
  const { error, error_description: description } = body;
  const code = typeof error === 'string' ? error : `status ${status}`;
  return typeof description === 'string' ? `${code}: ${description}` : code;
}

function basic(clientId: string, clientSecret: string): string {
  const encoded = [clientId, clientSecret].map((part) =>
    new URLSearchParams({ '': part }).toString().slice(1),
  );
  return `Basic ${Buffer.from(encoded.join(':')).toString('base64')}`;
}
