import type { JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installedDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { eventually } from '@tessera/test-kit/provision';
import { RpcCalls, servedMethods } from '../../harness/rpc-calls.ts';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';
import { choicesOf, randomLike, shapeOf, textAt, valuesOf, withValues } from './crossings.ts';
import { declaredTenant } from './declared-tenant.ts';
import { NamedCalls, nameOf } from './named-calls.ts';
import { flows, goodRequests, type GoodRequest } from './flows/requests.ts';
import { createTenant, type Tenant } from './tenant.ts';
import { withoutCrossing } from './flows/without-crossing.ts';

/** Guesses are not what is tested, and neither are their limits. */
const noLimits = {
  TESSERA_LOGIN_FAILURES_PER_ACCOUNT: '100000',
  TESSERA_CIBA_REQUESTS_PER_USER: '100000',
};

/** Mail is asked for, and goes nowhere. */
const mail = {
  TESSERA_ISSUER: 'https://id.example',
  TESSERA_SMTP_URL: 'smtp://127.0.0.1:9',
  TESSERA_MAIL_FROM: 'no-reply@id.example',
};

describe('a value of another tenant', () => {
  let system: System;
  let rpc: RpcCalls;
  let calls: NamedCalls;
  let north: Tenant;
  let south: Tenant;

  beforeAll(async () => {
    const stores = { databaseUrl: await installedDatabaseUrl(), redisUrl: redisUrl() };
    system = await startSystem(setUps.split, {
      stores,
      environment: noLimits,
      only: { directory: mail },
    });
    rpc = new RpcCalls(system);
    calls = new NamedCalls(rpc);
    north = createTenant(calls, 'north', system.baseUrl);
    south = createTenant(calls, 'south', system.baseUrl);
    for (const tenant of [north, south]) {
      const document = `owner: isolation\ntenants:${declaredTenant(tenant)}`;
      await calls.get('admin.DeclaredStateService.Apply', { tenantId: tenant.id, document });
    }
    for (const tenant of [north, south]) await tenant.tokens();
  });
  afterAll(async () => {
    rpc?.close();
    await system?.stop();
  });

  /** Puts values of `north` into requests of `south`: one, two or all. */
  async function cross(good: GoodRequest): Promise<void> {
    const { method, known = {}, isNew = false } = good;
    const places = valuesOf(await good.request(north), await good.request(south)).filter(
      (path) => !(path.join('.') in known),
    );
    expect(places, 'values of a tenant').not.toEqual([]);
    const fine = shapeOf(await calls.ask(method, await good.request(north)), []);
    for (const choice of choicesOf(places)) {
      const mine = await good.request(north);
      const answerTo = async (change: (value: string) => string): Promise<unknown> => {
        const values = new Map(choice.map((path) => [path, change(textAt(mine, ...path))]));
        const request = withValues(await good.request(south), values);
        return shapeOf(await calls.ask(method, request), [...values.values()]);
      };
      const unknown = await answerTo(randomLike);
      const foreign = await answerTo((value) => value);
      const where = choice.map((path) => path.join('.')).join(' and ');
      expect(foreign, `with ${where} of another tenant`).toEqual(unknown);
      if (!isNew && good.worth === undefined && choice.length === places.length)
        expect(unknown, 'unknown values get another answer than known ones').not.toEqual(fine);
      await expectUnharmed(good, mine, fine);
    }
    if (good.worth === undefined) return;
    const spent = await good.request(north);
    await calls.get(method, spent);
    await eventually(
      `${method} takes effect for its own tenant`,
      async () => !(await good.worth?.(north, spent)),
    );
  }

  /** What another tenant did with the values of a request took nothing from them. */
  async function expectUnharmed(good: GoodRequest, mine: JsonObject, fine: unknown): Promise<void> {
    if (good.worth === undefined)
      expect(shapeOf(await calls.ask(good.method, mine), []), 'to its own tenant afterwards').toEqual(fine);
    else expect(await good.worth(north, mine), 'worth as much as before').toBe(true);
  }

  const named = goodRequests.map((good) => [`${good.method} ${good.what ?? ''}`.trim(), good] as const);

  it.each(named)('is to %s as any unknown value', async (_name, good) => {
    await cross(good);
  });

  it('would be found if it were another one (canary)', async () => {
    const open: GoodRequest = {
      method: 'DirectoryService.GetApplication',
      request: async ({ web: clientId }) => ({ clientId }),
    };
    await expect(cross(open)).rejects.toThrow('with clientId of another tenant');
  });

  it('is tried with every method, or the method says why not', () => {
    const served = servedMethods.map(({ method }) => nameOf(method));
    const tried = new Set(goodRequests.map(({ method }) => method));
    expect(served.filter((name) => tried.has(name) === Object.hasOwn(withoutCrossing, name))).toEqual([]);
    const known = [...Object.keys(flows), ...Object.keys(withoutCrossing)];
    expect(known.filter((name) => !served.includes(name))).toEqual([]);
    expect(Object.keys(flows).filter((name) => name in withoutCrossing)).toEqual([]);
  });
});
