import { applicationObject } from '@tessera/test-client';
import { keepsApart } from '../objects/apart.ts';
import { issuerIsAway } from '../objects/away.ts';
import { holdsNoCredential } from '../objects/credentials.ts';
import { endsWithItsObject } from '../objects/ends.ts';
import { installWithController } from '../objects/installation.ts';
import { manyAndKills } from '../objects/many.ts';
import { check, type Scenario } from '../scenario.ts';

const patienceSeconds = 10;

/**
 * Services of several namespaces, declared as objects beside them, in a Tessera of their own beside the release: a
 * token within ten seconds of `kubectl apply`, no credential at rest, no way into another namespace, an end with the
 * object.
 */
export const declaredClients: Scenario = {
  name: 'declared clients',
  // In split the controller is the same, and twelve processes more do not fit on one small node.
  topologies: ['compact'],
  errors: 'none',
  async run(stage) {
    const installed = await installWithController(stage);
    try {
      const { shop, start } = installed;
      const started = performance.now();
      const orders = await start(shop, 'orders', { beside: [applicationObject('orders')] });
      const clientId = await orders.hasToken();
      const seconds = (performance.now() - started) / 1000;
      check(clientId === `${shop.name}.orders`, `a token of ${clientId}`);
      const said = `a token in ${seconds.toFixed(1)} s`;
      return await remarksOf([
        () => Promise.resolve(seconds < patienceSeconds ? said : Promise.reject(new Error(said))),
        () => keepsApart(installed, orders),
        () => issuerIsAway(installed, orders),
        () => manyAndKills(installed),
        () => holdsNoCredential(installed),
        () => endsWithItsObject(installed, orders),
      ]);
    } finally {
      await installed.end();
    }
  },
};

/** Takes each step, also after one that fails: none needs what another one leaves. Throws what failed first. */
async function remarksOf(steps: readonly (() => Promise<string>)[]): Promise<string> {
  const [remarks, wrong]: [string[], string[]] = [[], []];
  for (const step of steps) {
    try {
      remarks.push(await step());
    } catch (error) {
      wrong.push(`WRONG: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const all = [...wrong, ...remarks].join('; ');
  check(wrong.length === 0, all);
  return all;
}
