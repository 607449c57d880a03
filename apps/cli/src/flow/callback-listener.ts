import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { CommandError } from '../terminal.ts';

/** The body of a ping or push callback (CIBA Core §10.2, §10.3.1, §12). */
export type Callback = Readonly<Record<string, unknown>>;

/** A notification endpoint on this machine, for as long as a command waits. */
export interface CallbackListener {
  /** The bearer token that the server must send with a callback. */
  readonly notificationToken: string;
  /** The callback for one request. Throws CommandError when none arrives in time. */
  callback(authReqId: string, withinSeconds: number): Promise<Callback>;
  close(): void;
}

const longestBody = 65_536;

/** Listens on the loopback interface. Throws CommandError when the port is not available. */
export async function listenForCallback(port: number): Promise<CallbackListener> {
  const notificationToken = randomBytes(20).toString('base64url');
  const expected = Buffer.from(`Bearer ${notificationToken}`);
  const received: Callback[] = [];
  let onReceived = (): void => undefined;

  async function take(request: IncomingMessage): Promise<number> {
    if (request.method !== 'POST') return 405;
    const given = Buffer.from(request.headers.authorization ?? '');
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 401;
    const body = await callbackOf(request);
    if (body === undefined) return 400;
    received.push(body);
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
    callback: (authReqId, withinSeconds) =>
      new Promise((resolve, reject) => {
        const late = new CommandError('The request expired before anyone decided.');
        const timer = setTimeout(() => reject(late), withinSeconds * 1000);
        onReceived = () => {
          const found = received.find((one) => one['auth_req_id'] === authReqId);
          if (found === undefined) return;
          clearTimeout(timer);
          resolve(found);
        };
        onReceived();
      }),
    close: () => void server.close(),
  };
}

async function callbackOf(request: IncomingMessage): Promise<Callback | undefined> {
  let text = '';
  request.setEncoding('utf8');
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > longestBody) return undefined;
  }
  const body: unknown = JSON.parse(text);
  return typeof body === 'object' && body !== null ? (body as Callback) : undefined;
}
