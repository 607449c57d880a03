import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import type { Secret } from '@tessera/kit';
import type { RemoteService } from '@tessera/rpc';

/** Makes clients of an administration listener at `host:port`. Errors are ConnectErrors, Unavailable if nobody answers. */
export function connectClients(target: string, token: Secret): RemoteService['client'] {
  const transport = createConnectTransport({
    baseUrl: `http://${target}`,
    httpVersion: '1.1',
    interceptors: [
      (next) => (request) => {
        request.header.set('authorization', `Bearer ${token.reveal()}`);
        // Only where the token is the shared one does the caller say who it is.
        request.header.set('x-tessera-caller', 'operator');
        return next(request);
      },
    ],
  });
  return (service) => createClient(service, transport);
}
