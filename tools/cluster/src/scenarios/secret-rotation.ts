import { randomBytes } from 'node:crypto';
import { tenantsWith } from '../declared-state.ts';
import { until } from '../kubernetes.ts';
import { certificatesOf } from '../release.ts';
import type { Scenario, Stage } from '../scenario.ts';
import { changeSecret, newSecret, readSecret } from '../secrets.ts';

/**
 * docs/operations.md#rotate: the key of refresh tokens, a client secret and, in split, the certificates of all
 * processes.
 */
export const secretRotation: Scenario = {
  name: 'secret rotation',
  errors: 'none',
  async run(stage) {
    await stage.load.more(50);
    await rotateRefreshKey(stage);
    await rotateClientSecret(stage);
    if (stage.release.topology === 'split') await rotateCertificates(stage);
    await stage.load.more(50);
  },
};

async function rotateRefreshKey({ on, release }: Stage): Promise<void> {
  const present = await readSecret(on, 'secrets', 'token-refresh-keys');
  const next = `2:${randomBytes(32).toString('base64')},${present}`;
  await changeSecret(on, 'secrets', { 'token-refresh-keys': next });
  const component = release.topology === 'compact' ? 'standalone' : 'token';
  await on.kubectl(['rollout', 'restart', `deployment/tessera-${component}`]);
  await on.kubectl(['rollout', 'status', `deployment/tessera-${component}`, '--timeout=10m']);
  await release.settled();
}

/** Declared as a second one, moved to by the client, then alone. */
async function rotateClientSecret({ on, release, load }: Stage): Promise<void> {
  const next = newSecret();
  await changeSecret(on, 'clients', { 'worker-secret-2': next });
  await release.upgrade({ state: { tenants: tenantsWith(['worker-secret', 'worker-secret-2']) } });
  await changeSecret(on, 'load', { 'worker-secret': next, version: 'rotated' });
  await load.seesSecrets('rotated');
  // The chart's own test uses the same client.
  await changeSecret(on, 'smoke', { 'client-secret': next });
  await changeSecret(on, 'clients', { 'worker-secret': next });
  await release.upgrade({ state: { tenants: tenantsWith(['worker-secret']) } });
}

const notAfterScript = `fetch('http://127.0.0.1:9090/metrics').then((answer) => answer.text()).then((text) =>
  console.log(/^tessera_certificate_not_after_timestamp_seconds(?:{[^}]*})? (\\S+)/m.exec(text)?.[1] ?? ''))`;

/** Processes take the new files without a restart: their metric shows the new end of validity. */
async function rotateCertificates({ on, release, authority }: Stage): Promise<void> {
  const notAfter = Math.floor(Date.now() / 1000 + 3 * 86_400) * 1000;
  await on.apply(await certificatesOf(on, authority, notAfter));
  for (const pod of await release.pods()) {
    await until(`${pod} does not use its new certificate`, async () =>
      Number(await release.node(pod, notAfterScript)) === notAfter / 1000 ? true : undefined,
    );
  }
}
