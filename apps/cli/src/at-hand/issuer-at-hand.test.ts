import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { announceAdministration } from '@tessera/admin';
import { Secret, systemRandom } from '@tessera/kit';
import { createProver, nonceHeader, proofPath } from '@tessera/rpc';
import { expect, it, onTestFinished } from 'vitest';
import { printed } from '../testing/run-command.ts';

const issuer = 'http://localhost:8090';
const target = '127.0.0.1:4711';
const token = new Secret('a-token-that-is-in-the-file-alone');

/** A data directory whose process has said that it serves `issuer`, and what a command asks first. */
async function world({ proves }: { readonly proves: boolean }) {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-issuer-'));
  onTestFinished(async () => rm(folder, { recursive: true }));
  await announceAdministration(folder, { target, token, issuer });
  const prover = createProver(proves ? token : new Secret('another'), systemRandom);
  const origins: string[] = [];
  const fetchFrom: typeof fetch = async (url, init) => {
    const { origin, pathname, port } = new URL(url instanceof Request ? url.url : url);
    if (pathname === proofPath) {
      const nonce = new Headers(init?.headers).get(nonceHeader) ?? '';
      return Response.json(prover.prove(nonce, Number(port)));
    }
    origins.push(origin);
    throw new TypeError('fetch failed');
  };
  const run = async (words: string, environment: Readonly<Record<string, string>> = {}) => {
    const all = { TESSERA_DATA_DIR: folder, XDG_CONFIG_HOME: folder, ...environment };
    const { code } = await printed(words, all, fetchFrom);
    expect(code).toBe(1);
    return origins[0];
  };
  return { run };
}

it.each([
  'smoke',
  'flow device --client-id tv',
  'flow ciba --client-id kiosk --login-hint ada',
  'login --no-qr',
])('%s goes to the process whose data directory is at hand, whatever its port', async (words) => {
  const { run } = await world({ proves: true });
  expect(await run(words)).toBe(issuer);
});

it('a process that proves nothing, and what is given, do not lead there', async () => {
  const impostor = await world({ proves: false });
  expect(await impostor.run('flow device --client-id tv')).toBe('http://localhost:8080');
  const { run } = await world({ proves: true });
  expect(await run('flow device --client-id tv --issuer https://id.example')).toBe('https://id.example');
  const told = await world({ proves: true });
  expect(await told.run('smoke', { TESSERA_ISSUER: 'https://id.example' })).toBe('https://id.example');
  const port = await world({ proves: true });
  expect(await port.run('smoke', { TESSERA_HTTP_PORT: '9999' })).toBe('http://localhost:9999');
});
