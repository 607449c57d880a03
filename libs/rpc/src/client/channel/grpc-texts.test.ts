import { once } from 'node:events';
import { constants, createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import { expect, onTestFinished, test } from 'vitest';
import { connectionDropped, transportFailure } from './grpc-client.ts';

/** How grpc-js itself describes the end of a call that this handler serves. */
async function detailsOf(handler: (stream: ServerHttp2Stream) => void): Promise<string> {
  const server = createServer();
  server.on('sessionError', () => undefined);
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => undefined);
    handler(stream);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  onTestFinished(() => client.close());
  const bytes = (value: Buffer) => value;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest('/a.B/C', bytes, bytes, Buffer.alloc(0), (error: ServiceError | null) => {
      if (error === null) reject(new Error('the call succeeded'));
      else resolve(error.details);
    });
  });
}

const accepted = { ':status': 200, 'content-type': 'application/grpc' };

test('grpc-js says "Connection dropped" if the connection ends during a response', async () => {
  const details = await detailsOf((stream) => {
    stream.respond(accepted);
    stream.write(Buffer.alloc(5), () => setTimeout(() => stream.session?.destroy(), 100));
  });
  expect(details).toBe(connectionDropped);
});

test.each<[string, (stream: ServerHttp2Stream) => void]>([
  ['Received RST_STREAM', (stream) => stream.close(constants.NGHTTP2_PROTOCOL_ERROR)],
  ['Received HTTP status code', (stream) => stream.respond({ ':status': 502 }, { endStream: true })],
  ['Bandwidth exhausted', (stream) => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)],
  ['Protocol not secure', (stream) => stream.close(constants.NGHTTP2_INADEQUATE_SECURITY)],
])('grpc-js says "%s" of a stream without a gRPC status', async (text, handler) => {
  const details = await detailsOf(handler);
  expect(details).toContain(text);
  expect(details).toMatch(transportFailure);
});
