import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { atEndOfFile } from '@tessera/test-kit';

/**
 * Address of a page of a client, on loopback, where people come back to; it shows "Back" until the test file has ended.
 */
export async function startRedirectTarget(): Promise<string> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>Client</title><p>Back</p>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEndOfFile(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
}
