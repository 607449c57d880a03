import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A POST that a system of others got. */
export interface ReceivedPost {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** A system of others on the loopback interface; it answers 204, or what it was told to. */
export async function startReceiver() {
  const received: ReceivedPost[] = [];
  const statuses: number[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      received.push({ headers: request.headers as Record<string, string>, body });
      response.writeHead(statuses.shift() ?? 204, { location: '/elsewhere' }).end();
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/told`,
    /** To be emptied by a test that counts. */
    received,
    /** What it answers next, one after the other. */
    statuses,
    /** What has come, once that is `count` posts. */
    async got(count = 1): Promise<readonly ReceivedPost[]> {
      for (let attempt = 0; received.length < count; attempt += 1) {
        if (attempt === 100) throw new Error(`${received.length} posts instead of ${count}`);
        await new Promise((done) => setTimeout(done, 50));
      }
      return received;
    },
    close: () => new Promise((done) => server.close(done)),
  };
}
