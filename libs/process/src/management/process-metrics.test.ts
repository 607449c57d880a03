import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { X509Certificate } from 'node:crypto';
import { metrics } from '@tessera/telemetry';
import { createAuthority } from '@tessera/test-kit/provision';
import { expect, it, onTestFinished } from 'vitest';
import { measureCertificate, measureState } from './process-metrics.ts';

it('exports the version of the project and the readiness of the process', async () => {
  let ready = false;
  measureState('token', { lastReady: () => ready });
  const root = new URL('../../../../package.json', import.meta.url);
  const { version } = JSON.parse(await readFile(root, 'utf8')) as { version: string };
  expect(await metrics.text()).toContain(`tessera_build_info{process="token",version="${version}"} 1\n`);
  expect(await metrics.text()).toContain('tessera_ready{process="token"} 0\n');
  ready = true;
  expect(await metrics.text()).toContain('tessera_ready{process="token"} 1\n');
});

it('exports the expiry of the certificate, also after a renewal', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-certificate-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = join(directory, 'tls.crt');
  measureCertificate(file);
  const name = 'tessera_certificate_not_after_timestamp_seconds';
  expect(await metrics.text()).not.toMatch(new RegExp(`^${name} `, 'm'));
  const { cert } = await (await createAuthority()).issue('token');
  await writeFile(file, cert);
  const seconds = new X509Certificate(cert).validToDate.getTime() / 1000;
  expect(await metrics.text()).toContain(`\n${name} ${seconds}\n`);
});
