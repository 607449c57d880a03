import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { IntrospectRequestSchema, IntrospectResponseSchema } from '@tessera/proto-gen/token';
import { profileScope, publicClientId } from '../declared-state.ts';
import type { Target } from '../target.ts';
import type { CallLoad, HttpLoad } from './operation.ts';
import { issuePersonalTokens } from './people.ts';
import { cycle, form, json, okWith, turns } from './requests.ts';
import { issueAccessTokens } from './tokens.ts';

export const warmTokens = 2000;
/** More than the service caches, so that each is like a new one. */
export const coldTokens = 27_000;

function overHttp(target: Target, tokens: readonly string[]): HttpLoad {
  const requests = tokens.map((token) =>
    target.kind === 'peer'
      ? form('/introspect', { token, client_id: publicClientId })
      : json('/introspect', { token }),
  );
  return cycle(requests, okWith('"active":true'));
}

export async function ofAccessTokens(target: Target): Promise<HttpLoad> {
  if (target.kind !== 'peer') return overHttp(target, await issueAccessTokens(target, warmTokens));
  // It refuses JWTs.
  const tokens = await issuePersonalTokens(target, warmTokens, profileScope);
  return overHttp(
    target,
    tokens.map(({ accessToken }) => accessToken),
  );
}

/** Different bodies as long as those with tokens. */
export const ofNothing = async (target: Target): Promise<HttpLoad> =>
  overHttp(
    target,
    Array.from({ length: 100 }, (_, index) => `${index}`.padEnd(900, 'x')),
  );

function overCalls({ calls }: Target, tokens: readonly string[]): CallLoad {
  if (calls === undefined) throw new Error('there are no listeners for calls');
  const messages = tokens.map((token) =>
    Buffer.from(toBinary(IntrospectRequestSchema, create(IntrospectRequestSchema, { token }))),
  );
  return {
    kind: 'calls',
    target: calls.target,
    metadata: { authorization: `Bearer ${calls.token}`, 'x-tessera-caller': 'introspector' },
    method: '/tessera.token.v1.IntrospectionService/Introspect',
    next: turns(messages),
    accept: (answer) => fromBinary(IntrospectResponseSchema, answer).active,
  };
}

export const byCalls = async (target: Target, count: number): Promise<CallLoad> =>
  overCalls(target, await issueAccessTokens(target, count));

export const byEmptyCalls = async (target: Target): Promise<CallLoad> => overCalls(target, ['x'.repeat(900)]);
