import { Code, ConnectError, createClient, type Client, type Interceptor } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { adminServices } from '@tessera/proto-gen/admin-all';
import type { AccessTokenSource } from '@tessera/introspection-client/access-token-source';

export interface AdminClientOptions {
  /** Of the administration listener, such as `https://tessera-administration.tessera.svc:9002`. */
  readonly baseUrl: string;
  /** Asked before each call; `clientCredentials` makes one. */
  readonly accessToken: AccessTokenSource;
  /** Authorities in PEM that the server's certificate is checked by; default: those of Node. */
  readonly ca?: string | Buffer;
  /** How long a call may take; 10 s by default. Calls may set their own. */
  readonly timeoutMs?: number;
}

/** A client for each service of `tessera.admin.v1`. */
export type AdminClient = {
  readonly [Noun in keyof typeof adminServices]: Client<(typeof adminServices)[Noun]>;
};

/**
 * Calls the administration API over the Connect protocol. Failures are ConnectErrors; `fieldErrors` reads what they say
 * about fields. A create whose answer was lost may be repeated with the same `requestId`. It keeps connections that do
 * not hold the process up.
 */
export function createAdminClient({
  baseUrl,
  accessToken,
  ca,
  timeoutMs = 10_000,
}: AdminClientOptions): AdminClient {
  const transport = createConnectTransport({
    baseUrl,
    httpVersion: '1.1',
    useBinaryFormat: true,
    defaultTimeoutMs: timeoutMs,
    interceptors: [authorizing(accessToken)],
    ...(ca !== undefined && { nodeOptions: { ca } }),
  });
  const clients = Object.entries(adminServices).map(([noun, service]) => [
    noun,
    createClient(service, transport),
  ]);
  return Object.fromEntries(clients) as AdminClient;
}

/** Sends an access token with each call, and once another one if the server does not take it (any longer). */
function authorizing(accessToken: AccessTokenSource): Interceptor {
  return (next) => async (request) => {
    const send = async (refused: boolean) => {
      request.header.set('authorization', `Bearer ${await accessToken(refused)}`);
      return next(request);
    };
    try {
      return await send(false);
    } catch (error) {
      // Such a call was not read; the messages of a stream can be sent once only.
      if (request.stream || ConnectError.from(error).code !== Code.Unauthenticated) throw error;
      return send(true);
    }
  };
}
