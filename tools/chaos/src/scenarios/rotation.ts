import { setTimeout as sleep } from 'node:timers/promises';
import { callAsOperator } from '@tessera/test-client';
import { eventually } from '@tessera/test-kit/provision';
import { Caller, type Surroundings } from '../load/caller.ts';
import type { Replica } from '../system/replica.ts';
import { tenants } from '../system/declared-state.ts';
import type { Stage } from './scenario.ts';

const rounds = 30;
const betweenMs = 2_000;
/** How long both secrets of an application are valid at least. */
const overlapMs = 500;

const [tenant] = tenants;
const clientId = `${tenant}-rotating`;
const application = {
  clientId,
  name: 'Rotating',
  type: 'confidential',
  grantTypes: ['client_credentials'],
  scopes: [`${tenant}.read`],
};

interface Key {
  readonly kid: string;
  readonly algorithm: string;
  readonly state: string;
}

interface Secret {
  readonly secretId: string;
  readonly value: string;
}

/**
 * For a minute, by the administration API: every two seconds, new signing keys of every algorithm take over, the next
 * ones are published, and an application gets a new secret before its former one is deleted.
 */
export async function rotateKeysAndSecrets({ cluster, on, log }: Stage): Promise<void> {
  const { administrators, fronts } = cluster;
  let turn = 0;
  const ask = async <T>(method: string, request: object): Promise<T> => {
    const port = administrators[(turn += 1) % administrators.length]?.adminPort ?? 0;
    return callAsOperator<T>(port, cluster.rpcToken, `admin.v1.${method}`, request);
  };
  const ofApplication = async <T>(verb: string, fields: object) =>
    ask<T>(`ApplicationsService/${verb}`, { tenantId: tenant, ...fields });
  const rotateKeys = async (immediately: boolean) =>
    (await ask<{ keys: readonly Key[] }>('KeysService/Rotate', { immediately })).keys.find(
      ({ algorithm, state }) => algorithm === 'RS256' && state === 'active',
    )?.kid;
  const createSecret = async () => ofApplication<Secret>('CreateSecret', { clientId });

  await ofApplication('Create', { application });
  let current = await createSecret();
  const made = [current];
  const signed = new Set<string | undefined>();
  const clients = new RotatingClients(on, () => current.value);
  const published = new Publications(fronts, on);
  const slowest = { published: 0, refused: 0 };
  try {
    await rotateKeys(false);
    await published.next();
    for (let round = 0; round < rounds; round += 1) {
      const next = sleep(betweenMs);
      const former = current;
      current = await createSecret();
      made.push(current);
      await Promise.all([sleep(overlapMs), clients.answeredSoFar()]);
      await ofApplication('DeleteSecret', { clientId, secretId: former.secretId });
      slowest.refused = Math.max(slowest.refused, await untilRefused(fronts, former.value));
      await next;
      signed.add(await rotateKeys(true));
      await rotateKeys(false);
      slowest.published = Math.max(slowest.published, await published.next());
    }
  } finally {
    await clients.leave();
  }
  if (signed.size !== rounds) throw new Error(`${signed.size} keys signed in ${rounds} rounds`);
  const output = cluster.output();
  if (made.some(({ value }) => output.includes(value))) throw new Error('a secret is in the output');
  log(
    `${rounds} rotations during ${clients.answered} requests of the rotating application; a deleted secret was refused after at most ` +
      `${Math.round(slowest.refused)} ms, a new key was published everywhere after at most ${Math.round(slowest.published)} ms`,
  );
}

/** Clients that always use the newest secret. */
class RotatingClients {
  answered = 0;
  #running = true;
  readonly #lanes: readonly Promise<void>[];
  readonly #asking = new Map<number, Promise<unknown>>();

  constructor(on: Surroundings, secret: () => string) {
    this.#lanes = [0, 1, 2, 3].map(async (at) => this.#ask(on, at, secret));
  }

  async #ask(on: Surroundings, at: number, secret: () => string): Promise<void> {
    const dialect = at % 2 === 0 ? 'contract' : 'standard';
    const caller = new Caller(on, { name: `rotating-${at}@${tenant}`, tenant, clientId, dialect });
    while (this.#running && on.running()) {
      const request = { grantType: 'client_credentials', scope: `${tenant}.read`, clientSecret: secret() };
      const asking = caller.token(caller.facts('client-credentials'), request);
      this.#asking.set(at, asking);
      await asking;
      this.answered += 1;
      await sleep(50);
    }
  }

  /** Resolves once all requests that were sent before are answered. */
  async answeredSoFar(): Promise<void> {
    await Promise.all(this.#asking.values());
  }

  async leave(): Promise<void> {
    this.#running = false;
    await Promise.all(this.#lanes);
  }
}

/** The key sets of all replicas. */
class Publications {
  readonly #replicas: readonly Replica[];
  readonly #on: Surroundings;
  #known = new Set<string>();

  constructor(replicas: readonly Replica[], on: Surroundings) {
    this.#replicas = replicas;
    this.#on = on;
  }

  /**
   * The milliseconds until every replica publishes keys that none published before; verifiers know them from then on.
   */
  async next(): Promise<number> {
    const startedAt = performance.now();
    let kids: string[][] = [];
    await eventually('every replica publishes the next keys', async () => {
      kids = await Promise.all(this.#replicas.map(async (replica) => this.#keySet(replica)));
      return kids.every((some) => some.some((kid) => !this.#known.has(kid)));
    });
    this.#known = new Set(kids.flat());
    return performance.now() - startedAt;
  }

  async #keySet({ httpPort }: Replica): Promise<string[]> {
    const answer = await fetch(`http://127.0.0.1:${httpPort}/.well-known/jwks.json`);
    return this.#on.recorder.keys.add((await answer.json()) as Record<string, unknown>);
  }
}

/** The milliseconds until no replica takes the secret: one that does refuses the scope instead. */
async function untilRefused(replicas: readonly Replica[], clientSecret: string): Promise<number> {
  const startedAt = performance.now();
  const request = { grantType: 'client_credentials', clientId, clientSecret, scope: 'unknown' };
  const body = JSON.stringify(request);
  const refuses = async ({ httpPort }: Replica) => {
    // Failed guesses of one address are limited.
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': guesserAddress() };
    const answer = await fetch(`http://127.0.0.1:${httpPort}/token`, { method: 'POST', headers, body });
    await answer.body?.cancel();
    return answer.status === 401;
  };
  await eventually('no replica takes a deleted secret', async () =>
    (await Promise.all(replicas.map(refuses))).every(Boolean),
  );
  return performance.now() - startedAt;
}

const guesserAddress = (): string =>
  `10.1.${Math.floor(Math.random() * 256)}.${Math.floor(Math.random() * 256)}`;
