import { freePort } from '@tessera/test-kit/provision';
import type { Environment } from './process.ts';
import { entryOf, peersOf, services, sharedToken, type Service } from './services.ts';

/** A process of a system on this machine, to be started. */
export interface PlannedProcess {
  readonly name: string;
  /** The entry below the root of the checkout. */
  readonly entry: string;
  readonly environment: Environment;
  /** Answers with 200 once the process is ready. */
  readonly readyUrl: string;
}

/**
 * The processes of a system on free ports of loopback, in the order of their start. The split ones authenticate to each
 * other with a shared token, unless their `own` settings say otherwise.
 */
export async function planSystem(
  topology: 'compact' | 'split',
  common: Environment,
  own: (name: Service) => Environment = () => ({}),
): Promise<PlannedProcess[]> {
  if (topology === 'compact') return [await planProcess('standalone', common)];
  const ports = new Map<Service, number>();
  for (const name of services) ports.set(name, await freePort());
  const peers = peersOf((name) => `127.0.0.1:${ports.get(name)}`);
  const shared = { ...common, ...peers, ...sharedToken() };
  return Promise.all(
    services.map((name) =>
      planProcess(name, { ...shared, TESSERA_RPC_PORT: String(ports.get(name)), ...own(name) }),
    ),
  );
}

/** A process with a management listener on a free port. */
export async function planProcess(name: string, environment: Environment): Promise<PlannedProcess> {
  const port = String(await freePort());
  return {
    name,
    entry: entryOf(name),
    environment: { ...environment, TESSERA_MANAGEMENT_PORT: port },
    readyUrl: `http://127.0.0.1:${port}/readyz`,
  };
}
