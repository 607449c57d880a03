import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Lifecycle } from '../lifecycle.ts';

export interface ManagementOptions {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly lifecycle: Lifecycle;
  /** The text of `/metrics`; the path is unknown without it. */
  readonly metrics?: () => Promise<{ readonly contentType: string; readonly text: string }>;
}

export type Management = Awaited<ReturnType<typeof startManagement>>;

/**
 * The listener for probes and metrics, apart from the public one: `/livez` (the event loop runs), `/readyz` (200 or 503
 * with each check's result), `/metrics`.
 */
export async function startManagement(options: ManagementOptions) {
  const server = createServer({
    maxHeaderSize: 8192,
    requestTimeout: 5000,
    headersTimeout: 5000,
    keepAliveTimeout: 5000,
  });
  server.maxConnections = 64;
  server.on('request', (request, response) => {
    void answer(options, request, response).catch(() => {
      if (response.headersSent) response.destroy();
      else send(response, 500, 'text/plain', 'internal error\n');
    });
  });
  server.listen(options.port, options.host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  options: ManagementOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // Nothing here reads a body; one that is sent is not waited for.
  request.resume();
  const path = (request.url ?? '').replace(/\?.*$/s, '');
  const { metrics, lifecycle } = options;
  if (path !== '/livez' && path !== '/readyz' && (path !== '/metrics' || metrics === undefined))
    return send(response, 404, 'text/plain', 'not found\n');
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD');
    return send(response, 405, 'text/plain', 'method not allowed\n');
  }
  if (path === '/livez') return send(response, 200, 'text/plain', 'ok\n');
  if (path === '/metrics' && metrics !== undefined) {
    const { contentType, text } = await metrics();
    return send(response, 200, contentType, text);
  }
  const readiness = await lifecycle.readiness();
  return send(response, readiness.ready ? 200 : 503, 'application/json', `${JSON.stringify(readiness)}\n`);
}

function send(response: ServerResponse, status: number, contentType: string, text: string): void {
  response.writeHead(status, { 'Content-Type': contentType, 'Cache-Control': 'no-store' });
  response.end(text);
}
