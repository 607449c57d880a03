import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { CommandError } from '../terminal.ts';

/** What a client of ping or push is told (CIBA Core §10.2, §10.3.1, §12). */
export type Callback = Readonly<Record<string, unknown>>;

/** A notification endpoint on this machine, for as long as a command waits. */
export interface CallbackListener {
  /** What the server must show with a callback. */
  readonly notificationToken: string;
  /** The callback for one request. Throws CommandError when none has come after so many seconds. */
  callback(authReqId: string, withinSeconds: number): Promise<Callback>;
  close(): void;
}

const longestBody = 65_536;

/** Listens on the loopback interface. Throws CommandError when the port cannot be had. */
export async function listenForCallback(port: number): Promise<CallbackListener> {
  const notificationToken = randomBytes(20).toString('base64url');
  const expected = Buffer.from(`Bearer ${notificationToken}`);
  const told: Callback[] = [];
  let onTold = (): void => undefined;

  async function take(request: IncomingMessage): Promise<number> {
    if (request.method !== 'POST') return 405;
    const given = Buffer.from(request.headers.authorization ?? '');
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 401;
    const body = await callbackOf(request);
    if (body === undefined) return 400;
    told.push(body);
    onTold();
    return 204;
  }

  const server = createServer((request, response) => {
    void take(request)
      .catch(() => 400)
      .then((status) => response.writeHead(status, { connection: 'close' }).end());
  });
  await new Promise<void>((listening, fail) => {
    server.once('error', () => fail(new CommandError(`Port ${port} cannot be listened on.`)));
    server.listen(port, '127.0.0.1', listening);
  });
  return {
    notificationToken,
    callback: (authReqId, withinSeconds) =>
      new Promise((resolve, reject) => {
        const late = new CommandError('The request has expired before anybody decided.');
        const timer = setTimeout(() => reject(late), withinSeconds * 1000);
        onTold = () => {
          const found = told.find((one) => one['auth_req_id'] === authReqId);
          if (found === undefined) return;
          clearTimeout(timer);
          resolve(found);
        };
        onTold();
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
