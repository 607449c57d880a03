/**
 * `npm run test:cluster`: installs the image by Helm in the cluster that KUBECONFIG names, compact and split, and
 * upgrades, evicts, kills, rotates, restores and so on under load. CONTRIBUTING.md#cluster-tests says what it needs.
 */
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runPlan, tableOf, type Plan } from '../tools/cluster/src/run.ts';
import { scenarios } from '../tools/cluster/src/scenarios/index.ts';
import { provideHelm } from '../deploy/helm/tools.ts';

const topologies = ['compact', 'split'] as const;

function readPlan(environment: NodeJS.ProcessEnv): Plan {
  const { values } = parseArgs({
    options: {
      topology: { type: 'string', multiple: true, default: [...topologies] },
      only: { type: 'string', multiple: true, default: scenarios.map(({ name }) => name) },
      keep: { type: 'boolean', default: false },
      logs: { type: 'string', default: join(tmpdir(), 'tessera-cluster-logs') },
    },
  });
  const unknown = [
    ...values.topology.filter((name) => !topologies.some((each) => each === name)),
    ...values.only.filter((name) => !scenarios.some((each) => each.name === name)),
  ];
  if (unknown.length > 0) {
    const names = scenarios.map(({ name }) => `"${name}"`).join(', ');
    throw new Error(`Unknown: ${unknown.join(', ')}. --topology: ${topologies.join(', ')}; --only: ${names}`);
  }
  if (!environment['KUBECONFIG']) {
    throw new Error('Set KUBECONFIG to the file that names the cluster; the current context is used.');
  }
  const image = environment['TESSERA_TEST_IMAGE'];
  if (!image) {
    throw new Error('Set TESSERA_TEST_IMAGE to an image that the cluster can pull or has loaded.');
  }
  return {
    image,
    imageBefore: environment['TESSERA_TEST_IMAGE_BEFORE'],
    valuesFile: environment['TESSERA_TEST_VALUES'],
    node: environment['TESSERA_TEST_NODE'],
    stores: {
      postgres: environment['TESSERA_TEST_POSTGRES_IMAGE'] ?? 'postgres:18',
      redis: environment['TESSERA_TEST_REDIS_IMAGE'] ?? 'redis:8',
    },
    topologies: topologies.filter((name) => values.topology.includes(name)),
    scenarios: scenarios.filter(({ name }) => values.only.includes(name)),
    helm: provideHelm(environment),
    keep: values.keep,
    logs: resolve(values.logs),
    say: (line) => process.stdout.write(`${line}\n`),
  };
}

const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interruption.abort());
try {
  const results = await runPlan(readPlan(process.env), interruption.signal);
  process.stdout.write(`\n${tableOf(results)}\n`);
  process.exitCode = results.some(({ outcome }) => outcome === 'FAILED') ? 1 : 0;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  // An interrupted scenario would go on without its namespace.
  process.exit(1);
}
