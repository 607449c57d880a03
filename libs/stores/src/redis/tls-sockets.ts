import { subscribe } from 'node:diagnostics_channel';
import { TLSSocket } from 'node:tls';

let subscribed = false;

const ignore = (): void => undefined;

function listenToErrors(message: unknown): void {
  const { socket } = message as { readonly socket: unknown };
  if (socket instanceof TLSSocket) socket.on('error', ignore);
}

/**
 * From now on no second error of a TLS connection ends the process. Node emits one when a server's alert follows a
 * certificate that was refused, after the client has left; the library listens once, also to the sockets to Sentinels,
 * which it keeps to itself. The first error reaches its listeners as before.
 */
export function tolerateSecondErrors(): void {
  if (!subscribed) subscribe('net.client.socket', listenToErrors);
  subscribed = true;
}
