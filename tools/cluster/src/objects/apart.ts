import { applicationObject } from '@tessera/test-client';
import { check } from '../scenario.ts';
import { becomes, remove } from './application.ts';
import type { Client } from './client.ts';
import type { Installation } from './installation.ts';

/**
 * A namespace gets neither the client identifier of another one, nor its service account, nor another tenant, nor a
 * power; who tries leaves what is there as it is.
 */
export async function keepsApart(installed: Installation, orders: Client): Promise<string> {
  const { shop, stock, elsewhere, stray, surroundings, start } = installed;
  const taken = `${shop.name}.orders`;
  const subject = `system:serviceaccount:${shop.name}:orders`;
  const ofAnother = [{ issuer: surroundings.clusterIssuer, subject }];
  // The same service account by name, of a namespace of the same tenant, without an object.
  const same = await start(stock, 'orders');
  const tried = [
    [
      stock,
      applicationObject('identifier', { clientId: taken }),
      'False Conflict',
      `k8s:${shop.name}/orders`,
    ],
    [
      elsewhere,
      applicationObject('identifier', { clientId: taken, scopes: [] }),
      'False Conflict',
      'clientId',
    ],
    [stock, applicationObject('account', { trusts: ofAnother }), 'False NotAllowed', 'no service account of'],
    [
      elsewhere,
      applicationObject('account', { trusts: ofAnother, scopes: [] }),
      'False NotAllowed',
      'no service',
    ],
    [stray, applicationObject('tenant'), 'False NamespaceNotMapped', 'No tenant'],
  ] as const;
  for (const [on, object, said, part] of tried) {
    const { name } = object.metadata;
    await on.apply([object]);
    const message = await becomes(on, name, said);
    check(message.includes(part), `${name} of ${on.name}: ${message}`);
    await remove(on, name).catch(() => undefined);
  }
  const otherTenant = applicationObject('tenant', { tenantId: 'acme', scopes: [] });
  const refusal = await elsewhere.apply([otherTenant]).then(
    () => 'nothing',
    (error: unknown) => String(error),
  );
  check(refusal.includes('tenantId'), `a tenant in an object is refused with ${refusal}`);
  const answers = await same.answers();
  check(
    Object.keys(answers).join() === '401',
    `the same name in another namespace: ${JSON.stringify(answers)}`,
  );
  check((await orders.hasToken()) === taken, 'the first one lost its identifier');
  return `${tried.length + 2} attempts refused`;
}
