import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import type { Secret } from '@tessera/kit';
import type { RemoteService } from '@tessera/rpc/caller';

interface Listener {
  /** Such as http://127.0.0.1:9002. */
  readonly url: string;
  readonly token: Secret;
  /** Whether the token is that of operators, who need no access token. */
  readonly asOperator: boolean;
  readonly tls?: { readonly ca?: string; readonly servername?: string };
}

/** Makes clients of an administration listener. Errors are ConnectErrors, Unavailable if nobody answers. */
export function connectClients({ url, token, asOperator, tls }: Listener): RemoteService['client'] {
  const transport = createConnectTransport({
    baseUrl: url,
    httpVersion: '1.1',
    ...(tls !== undefined && { nodeOptions: tls }),
    interceptors: [
      (next) => (request) => {
        // A call may bring an access token of somebody else.
        if (request.header.has('authorization')) return next(request);
        request.header.set('authorization', `Bearer ${token.reveal()}`);
        // Only where the token is the shared one does the caller say who it is.
        if (asOperator) request.header.set('x-tessera-caller', 'operator');
        return next(request);
      },
    ],
  });
  return (service) => createClient(service, transport);
}
