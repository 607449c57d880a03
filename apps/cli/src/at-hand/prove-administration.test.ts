import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { announceAdministration } from '@tessera/admin';
import { migrations } from '@tessera/directory';
import { buildDirectory, directoryProcessConfig } from '@tessera/people';
import { Secret, systemRandom } from '@tessera/kit';
import { loadConfig } from '@tessera/process';
import { createProver, nonceHeader, proofPath, serveConnect } from '@tessera/rpc';
import { silentLog, testDatabase, testRuntime } from '@tessera/test-kit';
import { pepper, tessera } from '../testing/run-command.ts';

const token = new Secret('a-token-that-is-in-the-file-alone');

/** The data directory of a process that has said where it is. */
async function dataOf(target: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-proof-'));
  onTestFinished(async () => rm(directory, { recursive: true }));
  await announceAdministration(directory, { target, token, issuer: 'http://localhost:8080' });
  return directory;
}

/** A process with embedded stores. */
async function startProcess(port = 0) {
  const config = loadConfig(directoryProcessConfig, { TESSERA_DIRECTORY_PEPPER: pepper });
  const built = buildDirectory(
    config,
    {},
    testRuntime({ database: await testDatabase(migrations), log: silentLog() }),
  );
  onTestFinished(() => built.close());
  const prover = createProver(token, systemRandom);
  const credentials = { kind: 'token', token, of: 'operator', prover } as const;
  const server = await serveConnect(built, { host: '127.0.0.1', port, credentials, log: silentLog() });
  onTestFinished(() => server.drain());
  return server;
}

/** A process of somebody else, and all that it is sent. */
async function startImpostor(answer: RequestListener, port = 0) {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.url}\n${request.rawHeaders.join('\n')}`);
    request.on('data', (chunk: Buffer) => seen.push(chunk.toString()));
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { seen, port: (server.address() as AddressInfo).port };
}

const get = (directory: string, from: typeof fetch = fetch) =>
  tessera('get', { TESSERA_DATA_DIR: directory }, from);

describe('the process that has embedded stores open', () => {
  it('proves that it knows the credential of its file, and is called', async () => {
    const { port } = await startProcess();
    expect(await get(await dataOf(`127.0.0.1:${port}`))).toEqual({ code: 0, said: 'tenants: []\n' });
  });

  const guessed = createProver(new Secret('a-token-that-somebody-else-made-up'), systemRandom);
  it.each<[string, RequestListener]>([
    [
      'proves it with another credential',
      (request, response) =>
        response.end(
          JSON.stringify(guessed.prove(String(request.headers[nonceHeader]), request.socket.localPort ?? 0)),
        ),
    ],
    [
      'sends the question back',
      (request, response) =>
        response.end(
          JSON.stringify({ nonce: request.headers[nonceHeader], proof: request.headers[nonceHeader] }),
        ),
    ],
    [
      'knows no such question',
      (_request, response) => response.writeHead(404).end('{"code":"unimplemented"}'),
    ],
    [
      'asks for the credential',
      (_request, response) => response.writeHead(401, { 'www-authenticate': 'Bearer' }).end(),
    ],
    [
      'sends the command elsewhere',
      (_request, response) => response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end('{}'),
    ],
    ['says nothing, and hangs up', (request) => request.socket.destroy()],
  ])('is told from one that has its port and %s, which learns nothing', async (_what, answer) => {
    const { seen, port } = await startImpostor(answer);
    const { code, said } = await get(await dataOf(`127.0.0.1:${port}`));
    expect(code).toBe(1);
    expect(said).toMatch(/does not prove that it is that process.*No credential was sent|nothing answers at/);
    expect(seen).toHaveLength(1);
    expect(seen[0]).toContain(proofPath);
    expect(seen.join('\n')).not.toMatch(new RegExp(`${token.reveal()}|authorization`, 'i'));
    expect(said).not.toContain(token.reveal());
  });

  it('is told from one that hands the question on to it', async () => {
    const real = await startProcess();
    const { seen, port } = await startImpostor((request, response) => {
      const headers = { [nonceHeader]: String(request.headers[nonceHeader]) };
      void fetch(`http://127.0.0.1:${real.port}${proofPath}`, { method: 'POST', headers })
        .then(async (answer) => answer.text())
        .then((text) => response.end(text));
    });
    expect((await get(await dataOf(`127.0.0.1:${port}`))).said).toContain('No credential was sent');
    expect(seen).toHaveLength(1);
  });

  it('may end after its proof: what another at its port is then sent opens no process with the same credential', async () => {
    const real = await startProcess();
    const { port } = real;
    let impostor: Awaited<ReturnType<typeof startImpostor>> | undefined;
    const { code } = await get(await dataOf(`127.0.0.1:${port}`), async (...request) => {
      const answer = await fetch(...request);
      const text = await answer.text();
      await real.drain();
      impostor = await startImpostor((_request, response) => response.writeHead(401).end('{}'), port);
      return new Response(text);
    });
    expect(code).toBe(1);
    const sent = impostor?.seen.join('\n') ?? '';
    const [, authorization = ''] = /authorization\n(Bearer .*)/i.exec(sent) ?? [];
    expect(authorization).not.toBe('');
    expect(sent).not.toContain(token.reveal());
    const again = await startProcess();
    const call = async (bearer: string) =>
      fetch(`http://127.0.0.1:${again.port}/tessera.admin.v1.TenantsService/List`, {
        method: 'POST',
        headers: {
          authorization: bearer,
          'x-tessera-caller': 'operator',
          'content-type': 'application/json',
        },
        body: '{}',
      });
    expect((await call(authorization)).status).toBe(401);
    expect((await call(`Bearer ${token.reveal()}`)).status).toBe(200);
  });
});
