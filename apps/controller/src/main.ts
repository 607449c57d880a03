/**
 * The controller of a cluster: makes the objects beside services the records of applications and APIs. It holds
 * nothing.
 *
 *     Kubernetes ──watch──> controller ─> work-queue ─> reconcile/ ─┬─> administration/ ══Connect══> admin
 *                                                                   └─> cluster/ ══HTTPS══> Kubernetes: status, events
 */
import { KubeConfig } from '@kubernetes/client-node';
import { combine, ConfigError, processConfig, runProcess } from '@tessera/process';
import { openAdministration } from './administration/administration-api.ts';
import { openCluster } from './cluster/cluster.ts';
import { controllerConfig } from './config.ts';
import { startController } from './controller.ts';

await runProcess({
  name: 'controller',
  config: combine(processConfig, controllerConfig),
  environment: process.env,
  start: async ({ config, log, lifecycle }) => {
    const kubeConfig = new KubeConfig();
    if (config.KUBECONFIG !== undefined) kubeConfig.loadFromFile(config.KUBECONFIG);
    else if (config.KUBERNETES_SERVICE_HOST !== undefined) kubeConfig.loadFromCluster();
    else throw new ConfigError(['The controller runs in a cluster, or with KUBECONFIG: it has neither.']);
    const controller = startController({
      cluster: openCluster(kubeConfig),
      administration: openAdministration({
        baseUrl: config.TESSERA_API,
        caFile: config.TESSERA_API_CA_FILE,
        issuer: config.TESSERA_ISSUER,
        tokenFile: config.TESSERA_CLIENT_ASSERTION_FILE,
      }),
      tenants: config.TESSERA_CONTROLLER_NAMESPACES,
      deletionLimit: config.TESSERA_CONTROLLER_DELETION_LIMIT,
      surroundings: {
        cluster: config.TESSERA_CONTROLLER_CLUSTER,
        trustedIssuers: config.TESSERA_CONTROLLER_TRUSTED_ISSUERS,
      },
      resyncMs: config.TESSERA_CONTROLLER_RESYNC * 1000,
      log,
    });
    lifecycle.check('cluster', async () => controller.ready());
    lifecycle.onDrain(async () => controller.stop());
  },
});
