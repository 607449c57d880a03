import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendAsOperator } from '@tessera/test-client';
import type { Outcome } from '../history/history.ts';
import type { Cluster } from '../system/cluster.ts';
import { tenants } from '../system/declared-state.ts';
import { Caller, type Surroundings } from './caller.ts';

const pauseMs = 150;
const afterLossMs = 250;

/** What an administrator asks in turn, of every service. */
const reads = [
  'TenantsService/Get',
  'UsersService/List',
  'ApplicationsService/List',
  'ResourcesService/List',
  'RolesService/List',
  'SessionsService/List',
  'AuditService/Search',
];

/** Where they ask, and what they share with the other clients. */
interface Place {
  readonly cluster: Pick<Cluster, 'administrators' | 'rpcToken'>;
  readonly on: Surroundings;
}

/**
 * Administrators of both tenants, who read everything, and make people and delete them, until they are asked to leave.
 */
export function administer(place: Place): { leave(): Promise<void> } {
  let running = true;
  const served = place.cluster.administrators.length > 0 ? tenants : [];
  const lanes = served.map(async (tenant) => {
    while (running && place.on.running()) await round(place, tenant);
  });
  for (const lane of lanes) lane.catch(() => undefined);
  return {
    async leave() {
      running = false;
      await Promise.all(lanes);
    },
  };
}

async function round(place: Place, tenantId: string): Promise<void> {
  for (const method of reads) await ask(place, method, { tenantId });
  await ask(place, 'KeysService/List', {});
  const username = `new-${randomBytes(6).toString('hex')}`;
  const made = await ask(place, 'UsersService/Create', {
    tenantId,
    user: { username },
    requestId: crypto.randomUUID(),
  });
  const userId = made?.['userId'];
  if (userId === undefined) return;
  const whom = { tenantId, userId };
  await ask(place, 'GrantsService/List', whom);
  await ask(place, 'UsersService/Update', { tenantId, user: { userId, name: 'New' }, updateMask: 'name' });
  await ask(place, 'UsersService/Delete', { ...whom, validateOnly: true, impact: true });
  await ask(place, 'UsersService/Delete', whom, [404]);
}

/**
 * Repeats a call until it is answered. A status of `spent` is what an earlier attempt leaves, whose answer was lost.
 */
async function ask(
  { cluster, on }: Place,
  method: string,
  request: object,
  spent: readonly number[] = [],
): Promise<Record<string, unknown> | undefined> {
  const { administrators, rpcToken } = cluster;
  const tenant = 'tenantId' in request ? String(request.tenantId) : 'every tenant';
  const caller = new Caller(on, { name: `${method}@${tenant}`, tenant, clientId: '' });
  for (let attempt = 0; !on.signal.aborted; attempt += 1) {
    await sleep(attempt === 0 ? pauseMs : afterLossMs);
    const at = administrators[attempt % administrators.length]?.adminPort ?? 0;
    const { operation, answer } = await on.recorder.record(
      caller.facts('administer'),
      attempt,
      async () => sendAsOperator(at, rpcToken, `admin.v1.${method}`, request),
      ({ status }) => ({ outcome: outcomeOf(status, attempt > 0 ? spent : []) }),
    );
    const body = await answer?.json().catch(() => undefined);
    if (operation.outcome.result === 'good') return body as Record<string, unknown>;
    if (operation.outcome.result !== 'unavailable' && operation.outcome.result !== 'lost') return undefined;
  }
  return undefined;
}

function outcomeOf(status: number, spent: readonly number[]): Outcome {
  if (status === 200 || spent.includes(status)) return { result: 'good', status };
  if (status === 503 || status === 429) return { result: 'unavailable', status };
  return { result: status < 500 ? 'refused' : 'failed', status };
}
