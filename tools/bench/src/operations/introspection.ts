import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  BatchIntrospectRequestSchema,
  BatchIntrospectResponseSchema,
  IntrospectRequestSchema,
  IntrospectResponseSchema,
} from '@tessera/proto-gen/token';
import { profileScope, publicClientId } from '../declared-state.ts';
import type { Target } from '../target.ts';
import type { CallLoad, HttpLoad } from './operation.ts';
import { issuePersonalTokens } from './people.ts';
import { cycle, form, json, okWith, turns } from './requests.ts';
import { issueAccessTokens } from './tokens.ts';

export const warmTokens = 2000;
/** More than the service caches, so that each is like a new one. */
export const coldTokens = 27_000;

/** Tokens in one call of a batch. */
const batchSize = 100;

function overHttp(target: Target, tokens: readonly string[]): HttpLoad {
  const requests = tokens.map((token) =>
    target.kind === 'peer'
      ? form('/introspect', { token, client_id: publicClientId })
      : json('/introspect', { token }),
  );
  return cycle(requests, okWith('"active":true'));
}

export async function ofAccessTokens(target: Target, count: number, scope?: string): Promise<HttpLoad> {
  if (target.kind !== 'peer') return overHttp(target, await issueAccessTokens(target, count, scope));
  // It refuses JWTs.
  const tokens = await issuePersonalTokens(target, count, profileScope);
  return overHttp(
    target,
    tokens.map(({ accessToken }) => accessToken),
  );
}

export async function ofRefreshTokens(target: Target): Promise<HttpLoad> {
  const tokens = await issuePersonalTokens(target, 1000);
  return overHttp(
    target,
    tokens.map(({ refreshToken }) => refreshToken),
  );
}

/** Different bodies as long as those with tokens. */
export const ofNothing = async (target: Target): Promise<HttpLoad> =>
  overHttp(
    target,
    Array.from({ length: 100 }, (_, index) => `${index}`.padEnd(900, 'x')),
  );

function overCalls(
  { calls }: Target,
  method: string,
  messages: readonly Uint8Array[],
  accept: CallLoad['accept'],
  perCall = 1,
): CallLoad {
  if (calls === undefined) throw new Error('there are no listeners for calls');
  return {
    kind: 'calls',
    target: calls.target,
    metadata: { authorization: `Bearer ${calls.token}`, 'x-tessera-caller': 'introspector' },
    method: `/tessera.token.v1.IntrospectionService/${method}`,
    perCall,
    next: turns(messages.map((message) => Buffer.from(message))),
    accept,
  };
}

function singleCalls(target: Target, tokens: readonly string[]): CallLoad {
  const messages = tokens.map((token) =>
    toBinary(IntrospectRequestSchema, create(IntrospectRequestSchema, { token })),
  );
  const isActive = (answer: Buffer): boolean => fromBinary(IntrospectResponseSchema, answer).active;
  return overCalls(target, 'Introspect', messages, isActive);
}

export const byCalls = async (target: Target, count: number): Promise<CallLoad> =>
  singleCalls(target, await issueAccessTokens(target, count));

export const byEmptyCalls = async (target: Target): Promise<CallLoad> =>
  singleCalls(target, ['x'.repeat(900)]);

export async function byBatches(target: Target): Promise<CallLoad> {
  const tokens = await issueAccessTokens(target, warmTokens);
  const messages = Array.from({ length: warmTokens / batchSize }, (_, index) => {
    const batch = { tokens: tokens.slice(index * batchSize, (index + 1) * batchSize) };
    return toBinary(BatchIntrospectRequestSchema, create(BatchIntrospectRequestSchema, batch));
  });
  const areActive = (answer: Buffer): boolean => {
    const { outcomes } = fromBinary(BatchIntrospectResponseSchema, answer);
    const active = outcomes.filter(({ outcome }) => outcome.case === 'result' && outcome.value.active);
    return active.length === batchSize;
  };
  return overCalls(target, 'BatchIntrospect', messages, areActive, batchSize);
}
