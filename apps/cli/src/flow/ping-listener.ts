import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { z } from 'zod';
import { CommandError } from '../terminal.ts';

/** A notification endpoint on this machine (CIBA Core §10.2), for as long as a command waits. */
export interface PingListener {
  /** The bearer token that the server must send with a ping. */
  readonly notificationToken: string;
  /** Resolves when the server has said that one request is decided. Throws CommandError when it does not in time. */
  pinged(authReqId: string, withinSeconds: number): Promise<void>;
  close(): void;
}

const ping = z.object({ auth_req_id: z.string() });

const longestBody = 65_536;

/** Listens on the loopback interface. Throws CommandError when the port is not available. */
export async function listenForPing(port: number): Promise<PingListener> {
  const notificationToken = randomBytes(20).toString('base64url');
  const expected = Buffer.from(`Bearer ${notificationToken}`);
  const received = new Set<string>();
  let onReceived = (): void => undefined;

  async function take(request: IncomingMessage): Promise<number> {
    if (request.method !== 'POST') return 405;
    const given = Buffer.from(request.headers.authorization ?? '');
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 401;
    const { auth_req_id: authReqId } = ping.parse(JSON.parse(await bodyOf(request)));
    received.add(authReqId);
    onReceived();
    return 204;
  }

  const server = createServer((request, response) => {
    void take(request)
      .catch(() => 400)
      .then((status) => response.writeHead(status, { connection: 'close' }).end());
  });
  await new Promise<void>((listening, fail) => {
    server.once('error', () => fail(new CommandError(`Cannot listen on port ${port}.`)));
    server.listen(port, '127.0.0.1', listening);
  });
  return {
    notificationToken,
    pinged: (authReqId, withinSeconds) =>
      new Promise((resolve, reject) => {
        const late = new CommandError('The request expired before anyone decided.');
        const timer = setTimeout(() => reject(late), withinSeconds * 1000);
        onReceived = () => {
          if (!received.has(authReqId)) return;
          clearTimeout(timer);
          resolve();
        };
        onReceived();
      }),
    close: () => void server.close(),
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  request.setEncoding('utf8');
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > longestBody) throw new Error('the body of a ping is too long');
  }
  return text;
}
