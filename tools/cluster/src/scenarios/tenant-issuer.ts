import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { host, tenantIssuers, tenantsWith, tenantsWithIssuers } from '../declared-state.ts';
import { runPod } from '../kubernetes.ts';
import { check, type Scenario } from '../scenario.ts';

const name = 'ingress';
const rounds = 10;

/** No controller takes this Ingress, as there is no class of that name. The proxy is not trusted. */
export const ingressValues = {
  ingress: { enabled: true, className: 'none' },
  http: { trustedProxies: ['192.0.2.1'] },
};

/** A client of each issuer; all have the secret `worker-secret`. */
export const issuerClients = [
  { issuer: `https://${host}`, clientId: 'worker' },
  ...Object.entries(tenantIssuers).map(([id, issuer]) => ({ issuer, clientId: `${id}-worker` })),
];

/**
 * Tenants get issuers of their own, a path and a host. A proxy that follows the Ingress of the release, in place of a
 * controller, leads their clients to metadata, keys and tokens, and none to introspection and revocation.
 */
export const tenantIssuer: Scenario = {
  name: 'tenant issuer',
  errors: 'none',
  async run({ on, release, load, image }) {
    await load.more(50);
    await release.upgrade({
      state: { tenants: [...tenantsWith(['worker-secret']), ...tenantsWithIssuers] },
      ...ingressValues,
    });
    const ingress = await on.kubectl(['get', 'ingress', 'tessera', '--output=json']);
    const script = readFileSync(join(import.meta.dirname, '..', 'ingress-script.ts'), 'utf8');
    const data = { 'ingress.mts': script, 'ingress.json': ingress };
    await on.apply([{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data }]);
    const address = `http://${release.front}.${on.name}`;
    const output = await runPod(on, {
      name,
      image,
      command: [
        'node',
        '/ingress/ingress.mts',
        address,
        '/ingress/ingress.json',
        '/secrets/worker-secret',
        String(rounds),
        JSON.stringify(issuerClients),
      ],
      mounts: {
        '/ingress': { configMap: { name } },
        '/secrets': { secret: { secretName: 'load', defaultMode: 0o440 } },
      },
    });
    const { asked, unexpected } = JSON.parse(output) as { asked: number; unexpected: readonly string[] };
    check(unexpected.length === 0, `${unexpected.length} of ${asked} requests: ${unexpected.join('; ')}`);
    await load.more(50);
    await release.upgrade({});
    return `${asked} requests at ${issuerClients.length} issuers through the Ingress`;
  },
};
