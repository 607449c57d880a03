import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  BatchIntrospectRequestSchema,
  BatchIntrospectResponseSchema,
  IntrospectRequestSchema,
  IntrospectResponseSchema,
} from '@tessera/proto-gen/token';
import { times } from '../driver/send.ts';
import type { Target } from '../target.ts';
import { es256Scope, issueAccessTokens } from './client-credentials.ts';
import { mint, publicClientId } from './minted.ts';
import type { CallLoad, Load, Operations } from './operation.ts';
import { issuePersonalTokens } from './people.ts';
import { cycle, form, json, okWith, turns } from './requests.ts';

const warmTokens = 2000;
/** More than the service caches, so that each is like a new one. */
const coldTokens = 27_000;

/** Tokens in one call of a batch. */
const batchSize = 100;

const isActive = okWith('"active":true');

async function overHttp(target: Target, count: number, scope?: string): Promise<Load> {
  const tokens = await issueAccessTokens(target, count, scope);
  return cycle(
    tokens.map((token) => json('/introspect', { token })),
    isActive,
  );
}

async function byPeer(target: Target, kind: 'opaque-tokens' | 'refresh-tokens'): Promise<Load> {
  const tokens = await mint(target, kind, warmTokens);
  return cycle(
    tokens.map(({ value }) => form('/token/introspection', { token: value, client_id: publicClientId })),
    isActive,
  );
}

async function byBareHandler(): Promise<Load> {
  const tokens = Array.from({ length: 100 }, (_, index) => `${index}`.padEnd(900, 'x'));
  return cycle(
    tokens.map((token) => json('/introspect', { token })),
    isActive,
  );
}

async function byEmptyCall(target: Target): Promise<Load> {
  const request = create(IntrospectRequestSchema, { token: 'x'.repeat(900) });
  return {
    ...overCalls(target, 'Introspect', 1),
    next: turns([Buffer.from(toBinary(IntrospectRequestSchema, request))]),
    accept: (answer: Buffer) => fromBinary(IntrospectResponseSchema, answer).active,
  };
}

function overCalls(target: Target, method: string, perCall: number): Omit<CallLoad, 'next' | 'accept'> {
  if (target.calls === undefined) throw new Error('there are no listeners for calls');
  return {
    kind: 'calls',
    target: target.calls.target,
    metadata: { authorization: `Bearer ${target.calls.token}`, 'x-tessera-caller': 'introspector' },
    method: `/tessera.token.v1.IntrospectionService/${method}`,
    perCall,
  };
}

async function singleCalls(target: Target, count: number): Promise<Load> {
  const tokens = await issueAccessTokens(target, count);
  const messages = tokens.map((token) =>
    Buffer.from(toBinary(IntrospectRequestSchema, create(IntrospectRequestSchema, { token }))),
  );
  return {
    ...overCalls(target, 'Introspect', 1),
    next: turns(messages),
    accept: (answer: Buffer) => fromBinary(IntrospectResponseSchema, answer).active,
  };
}

async function batchCalls(target: Target): Promise<Load> {
  const tokens = await issueAccessTokens(target, warmTokens);
  const messages = times(warmTokens / batchSize).map((index) => {
    const batch = { tokens: tokens.slice(index * batchSize, (index + 1) * batchSize) };
    return Buffer.from(toBinary(BatchIntrospectRequestSchema, create(BatchIntrospectRequestSchema, batch)));
  });
  return {
    ...overCalls(target, 'BatchIntrospect', batchSize),
    next: turns(messages),
    accept(answer: Buffer) {
      const { outcomes } = fromBinary(BatchIntrospectResponseSchema, answer);
      const active = outcomes.filter(({ outcome }) => outcome.case === 'result' && outcome.value.active);
      return active.length === batchSize;
    },
  };
}

export const introspection = {
  'introspect-access': {
    ours: (target) => overHttp(target, warmTokens),
    peers: (target) => byPeer(target, 'opaque-tokens'),
    bare: byBareHandler,
  },
  'introspect-access-cold': {
    ours: (target) => overHttp(target, coldTokens),
  },
  'introspect-access-cold-es256': {
    ours: (target) => overHttp(target, coldTokens, es256Scope),
  },
  'introspect-refresh': {
    async ours(target) {
      const tokens = await issuePersonalTokens(target, 1000);
      return cycle(
        tokens.map(({ refreshToken }) => json('/introspect', { token: refreshToken })),
        isActive,
      );
    },
    peers: (target) => byPeer(target, 'refresh-tokens'),
  },
  'introspect-call': {
    inFlight: 64,
    splitOnly: true,
    ours: (target) => singleCalls(target, warmTokens),
    bare: byEmptyCall,
  },
  'introspect-call-cold': {
    inFlight: 64,
    splitOnly: true,
    ours: (target) => singleCalls(target, coldTokens),
  },
  'introspect-batch': {
    inFlight: 8,
    splitOnly: true,
    ours: batchCalls,
  },
} satisfies Operations;
