import { beforeAll, describe, expect, it } from 'vitest';
import { billingAudience, ordersAudience } from '../../harness/declared-state.ts';
import {
  decideCiba,
  decideDevice,
  type Dialect,
  dialects,
  type Person,
  tokensOf,
} from '@tessera/test-client';
import { audienceOf, authorizeQuery, codeFor, redeem, refresh } from '../../harness/flows.ts';
import { askCiba, askDevice, poll } from '../../harness/out-of-band.ts';
import type { System } from '../../harness/set-up.ts';

interface Asked {
  readonly dialect: Dialect;
  readonly scope: string;
  readonly resource: string | undefined;
}

/** Resolves with the `aud` of the access token, or with the error code. */
type Obtain = (asked: Asked) => Promise<string>;

/** `resource` (RFC 8707) at every place that takes it. */
export function resourceSuite(system: () => System): void {
  let person: Person;
  let messages = 0;
  const named = (resource: string | undefined) => (resource === undefined ? {} : { resource });

  const device =
    (at: 'start' | 'poll'): Obtain =>
    async ({ dialect, scope, resource }) => {
      const { http } = system();
      const answer = await askDevice(http, { scope, ...named(at === 'start' ? resource : undefined) });
      if (answer.status !== 200) return audienceOf(answer);
      await decideDevice(person, String(answer.json()['user_code']), 'approve');
      const secret = String(answer.json()['device_code']);
      const more = named(at === 'poll' ? resource : undefined);
      return audienceOf(await poll(http, 'device', secret, 'acme-tv', dialect, more));
    };

  const ciba =
    (at: 'start' | 'poll'): Obtain =>
    async ({ dialect, scope, resource }) => {
      const { http } = system();
      const message = `resource ${(messages += 1)}.`;
      const more = named(at === 'start' ? resource : undefined);
      const answer = await askCiba(http, { scope, binding_message: message, ...more });
      if (answer.status !== 200) return audienceOf(answer);
      await decideCiba(person, 'approve', message);
      const secret = String(answer.json()['auth_req_id']);
      const atPoll = named(at === 'poll' ? resource : undefined);
      return audienceOf(await poll(http, 'ciba', secret, 'acme-desk', dialect, atPoll));
    };

  const places: Readonly<Record<string, Obtain>> = {
    'authorization code, at /authorize': async ({ dialect, scope, resource }) => {
      const query = authorizeQuery({ scope, resource, prompt: 'none' });
      const location = new URL((await person.get(`/authorize?${query}`)).header('location') ?? '');
      const error = location.searchParams.get('error');
      if (error !== null) return error;
      const code = await codeFor(person, 'acme-web', { scope, resource });
      return audienceOf(await redeem(system().http, code, dialect));
    },
    'authorization code, at /token': async ({ dialect, scope, resource }) => {
      const code = await codeFor(person, 'acme-web', { scope });
      return audienceOf(await redeem(system().http, code, dialect, named(resource)));
    },
    'refresh token': async ({ dialect, scope, resource }) => {
      const code = await codeFor(person, 'acme-web', { scope: `${scope} offline_access` });
      const { refreshToken } = tokensOf(await redeem(system().http, code, dialect));
      return audienceOf(await refresh(system().http, refreshToken, 'acme-web', dialect, named(resource)));
    },
    'device code, at the start': device('start'),
    'device code, at the poll': device('poll'),
    'CIBA, at the start': ciba('start'),
    'CIBA, at the poll': ciba('poll'),
  };

  describe('the audience of an access token (RFC 8707)', () => {
    beforeAll(async () => {
      person = system().person();
      await codeFor(person);
    });

    const cases = dialects.flatMap((dialect) =>
      Object.keys(places).map((place) => [place, dialect] as const),
    );
    it.each(cases)(
      '%s, %s dialect: is the named resource, with or without its scopes',
      async (place, dialect) => {
        const outcomes: Record<string, string | undefined> = {};
        for (const scope of ['openid', 'openid orders.read']) {
          for (const resource of [undefined, ordersAudience, billingAudience, 'https://unknown.example']) {
            outcomes[`${scope}, ${resource}`] = await places[place]?.({ dialect, scope, resource });
          }
        }
        expect(outcomes).toEqual({
          'openid, undefined': system().baseUrl,
          [`openid, ${ordersAudience}`]: ordersAudience,
          [`openid, ${billingAudience}`]: 'invalid_target',
          'openid, https://unknown.example': 'invalid_target',
          'openid orders.read, undefined': ordersAudience,
          [`openid orders.read, ${ordersAudience}`]: ordersAudience,
          [`openid orders.read, ${billingAudience}`]: 'invalid_target',
          'openid orders.read, https://unknown.example': 'invalid_target',
        });
      },
    );
  });
}
