import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '@tessera/test-kit/provision';
import { render } from './chart.ts';
import { tenantsWith, tenantsWithIssuers } from '@tessera/cluster/declared-state';
import { valuesOf } from '@tessera/cluster/release';
import { ingressValues, issuerClients } from '@tessera/cluster/scenarios/tenant-issuer';

const directory = mkdtempSync(join(tmpdir(), 'tessera-ingress-'));
const repository = dirname(dirname(import.meta.dirname));
const tenants = [...tenantsWith(['worker-secret']), ...tenantsWithIssuers];
let server: ChildProcess;
let address: string;

beforeAll(async () => {
  for (const name of ['worker-secret', 'orders-secret', 'ada-password'])
    writeFileSync(join(directory, name), randomBytes(32).toString('base64url'));
  writeFileSync(join(directory, 'tessera.yaml'), JSON.stringify({ tenants }));
  const [http, management] = [await freePort(), await freePort()];
  address = `http://127.0.0.1:${http}`;
  server = spawn(process.execPath, [join(repository, 'apps/standalone/src/main.ts')], {
    stdio: 'ignore',
    env: {
      PATH: process.env['PATH'],
      TESSERA_ISSUER: String(valuesOf('id', 'compact', 'tessera')['issuer']),
      TESSERA_APPLY_FILE: join(directory, 'tessera.yaml'),
      TESSERA_DATA_DIR: join(directory, 'data'),
      TESSERA_HTTP_HOST: '127.0.0.1',
      TESSERA_HTTP_PORT: String(http),
      TESSERA_MANAGEMENT_HOST: '127.0.0.1',
      TESSERA_MANAGEMENT_PORT: String(management),
    },
  });
}, 60_000);

afterAll(async () => {
  const ended = new Promise((resolve) => server.once('exit', resolve));
  server.kill();
  await ended;
  rmSync(directory, { recursive: true });
}, 60_000);

test('Clients of every issuer get through the Ingress of the chart what they need, and neither introspection nor revocation', async () => {
  const values = { ...valuesOf('id', 'compact', 'tessera'), ...ingressValues, state: { tenants } };
  const ingress = render(values).find(({ kind }) => kind === 'Ingress');
  writeFileSync(join(directory, 'ingress.json'), JSON.stringify(ingress));
  const { stdout } = await promisify(execFile)(process.execPath, [
    fileURLToPath(import.meta.resolve('@tessera/cluster/ingress-script')),
    address,
    join(directory, 'ingress.json'),
    join(directory, 'worker-secret'),
    '1',
    JSON.stringify(issuerClients),
  ]);
  expect(JSON.parse(stdout)).toEqual({ asked: 30, unexpected: [] });
}, 600_000);
