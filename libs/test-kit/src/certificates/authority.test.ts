import { X509Certificate } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { expect, test } from 'vitest';
import { atEndOfFile } from '../cleanup.ts';
import { createAuthority } from './authority.ts';

test('an issued certificate names its holder and verifies against its authority', async () => {
  const authority = await createAuthority();
  const issued = new X509Certificate((await authority.issue('token')).cert);
  expect(issued.subject).toBe('CN=token');
  expect(issued.checkHost('token')).toBe('token');
  expect(issued.checkIP('127.0.0.1')).toBe('127.0.0.1');
  expect(issued.verify(new X509Certificate(authority.cert).publicKey)).toBe(true);
  expect(issued.verify(new X509Certificate((await createAuthority()).cert).publicKey)).toBe(false);
});

test('TLS peers with certificates of one authority accept one another, and not an expired one', async () => {
  const authority = await createAuthority();
  const server = createServer(
    { ...(await authority.issue('keys')), ca: authority.cert, requestCert: true, rejectUnauthorized: true },
    (socket) => void socket.end(String(socket.getPeerCertificate().subject.CN)),
  );
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEndOfFile(() => new Promise((resolve) => server.close(resolve)));
  const { port } = server.address() as AddressInfo;
  const dial = (credentials: { cert: string; key: string }) =>
    answerOf(connect({ port, host: '127.0.0.1', servername: 'keys', ca: authority.cert, ...credentials }));

  await expect(dial(await authority.issue('token'))).resolves.toBe('token');
  const expired = dial(await authority.issue('token', { notAfter: Date.now() - 1000 }));
  await expect(expired.catch(() => '')).resolves.toBe('');
});

function answerOf(socket: TLSSocket): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    socket.once('error', reject);
    socket.once('end', () => resolve(answer));
  });
}
