import { ScalarType, type DescMethod, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import { servedMethods } from '../../../harness/rpc-calls.ts';
import type { Flow, Flows } from './flow.ts';
import { flowsOfClients } from './flows-of-clients.ts';
import { flowsOfDirectory } from './flows-of-directory.ts';
import { flowsOfPeople } from './flows-of-people.ts';
import { flowsOfRecords } from './flows-of-records.ts';
import { nameOf } from '../named-calls.ts';
import type { Tenant } from '../tenant.ts';
import { leftOut, withoutCrossing } from './without-crossing.ts';

/** A good request of a tenant, made anew for each try. */
export interface GoodRequest extends Omit<Flow, 'values'> {
  readonly method: string;
  request(tenant: Tenant): Promise<JsonObject>;
}

/** What a field of this name has in every request that a flow does not give another value. */
const usual: Readonly<Record<string, (tenant: Tenant) => JsonValue | Promise<JsonValue>>> = {
  tenantId: ({ id }) => id,
  issuerTenantId: ({ id }) => id,
  ipAddress: () => '10.0.0.1',
  caller: (tenant) => tenant.caller(),
  credentials: (tenant) => tenant.credentials(),
  browser: async (tenant) => (await tenant.session()).browser,
  userId: async (tenant) => (await tenant.session()).userId,
  clientId: ({ web }) => web,
  identifier: ({ username }) => username,
  password: ({ password }) => password,
  provider: ({ provider }) => provider,
  visit: () => 'v'.repeat(22),
};

/** By the name of the method. Methods without a flow are tried with the usual values alone. */
export const flows: Flows = { ...flowsOfPeople, ...flowsOfClients, ...flowsOfDirectory, ...flowsOfRecords };

/**
 * The values of a flow, and the usual ones of the other fields. Of alternatives there is only what the flow gives.
 * Throws if a text is left that may name something.
 */
async function requestOf(method: DescMethod, given: JsonObject, tenant: Tenant): Promise<JsonObject> {
  const request = { ...given };
  for (const { localName, oneof } of method.input.fields) {
    if (oneof !== undefined || localName in given) continue;
    const value = await usual[localName]?.(tenant);
    if (value !== undefined) request[localName] = value;
  }
  const without = forgotten(method, request);
  if (without.length > 0) throw new Error(`no flow gives ${without.join(', ')}`);
  return request;
}

/** Texts that a request of a method could have, and that nothing gives or says why it is left out. */
function forgotten({ name, input }: DescMethod, request: JsonObject): string[] {
  return input.fields
    .filter(({ fieldKind, scalar, oneof }) => fieldKind !== 'map' && scalar === ScalarType.STRING && !oneof)
    .map(({ localName }) => localName)
    .filter((field) => !(field in request || field in leftOut || `${name}.${field}` in leftOut));
}

function flowsFor(name: string): readonly Flow[] {
  const found = flows[name] ?? {};
  if (typeof found === 'function') return [{ values: found }];
  return Array.isArray(found) ? found : [found];
}

/** A good request, or several, of every method that takes something of a tenant. */
export const goodRequests: readonly GoodRequest[] = servedMethods
  .map(({ method }) => ({ method, name: nameOf(method) }))
  .filter(({ name }) => !(name in withoutCrossing))
  .flatMap(({ method, name }) =>
    flowsFor(name).map(({ values, ...flow }) => ({
      ...flow,
      method: name,
      request: async (tenant: Tenant) => requestOf(method, (await values?.(tenant)) ?? {}, tenant),
    })),
  );
