import { IntrospectionError, type Introspector } from '@tessera/introspection-client';
import type { Caller } from './caller.ts';
import { nameOf } from '../history/history.ts';
import { outcomeOf, type Facts, type Recorder } from '../history/recorder.ts';
import type { Grant } from './browser.ts';

/** Refreshes the tokens of the grant; false if it has ended. */
export async function refresh(caller: Caller, grant: Grant): Promise<boolean> {
  const { refreshToken: token } = grant.tokens;
  if (token === undefined) return false;
  const facts = caller.facts('refresh', { presented: nameOf(token), basis: grant.basis });
  const sent = await caller.token(facts, { grantType: 'refresh_token', refreshToken: token });
  if (sent?.tokens === undefined) return false;
  grant.tokens = sent.tokens;
  return true;
}

export async function revoke(caller: Caller, grant: Grant): Promise<void> {
  const token = grant.tokens.refreshToken ?? '';
  const facts = caller.facts('revoke', { presented: nameOf(token), ends: [grant.basis] });
  await caller.ask(facts, 'DELETE', '/revoke', { json: { token, reasonRevoked: 'chaos' } });
}

export async function userinfo(caller: Caller, { basis, tokens }: Grant): Promise<void> {
  const facts = caller.facts('userinfo', { presented: nameOf(tokens.accessToken), basis });
  const headers = { authorization: `Bearer ${tokens.accessToken}` };
  await caller.ask(facts, 'GET', '/userinfo', { headers }, (answer) => {
    const outcome = outcomeOf(answer);
    return outcome.result === 'good'
      ? { outcome, said: { subject: String(answer.json()['sub']) } }
      : { outcome };
  });
}

type TokenType = 'access' | 'refresh';

const introspection = (caller: Caller, type: TokenType, token: string, basis: string | undefined): Facts =>
  caller.facts(`introspect-${type}`, {
    presented: nameOf(token),
    // An access token outlives its grant.
    ...(type === 'refresh' && basis !== undefined ? { basis } : {}),
  });

/** Over HTTP, as a caller inside the network. */
export async function introspect(
  caller: Caller,
  type: TokenType,
  token: string,
  basis?: string,
  sweep = false,
): Promise<void> {
  const facts = { ...introspection(caller, type, token, basis), sweep };
  await caller.ask(facts, 'POST', '/introspect', { json: { token } }, (answer) => {
    const outcome = outcomeOf(answer);
    if (outcome.result !== 'good') return { outcome };
    const data = answer.json()['data'] as Record<string, string | boolean | undefined>;
    if (data['active'] !== true) return { outcome: { result: 'inactive', status: 200 } };
    const text = (key: string) => (typeof data[key] === 'string' ? data[key] : '');
    const said = { tenant: text('tenant_id'), clientId: text('client_id'), subject: text('sub') };
    return { outcome, said };
  });
}

/** Over gRPC, with the client that services install; its own retries belong to one operation. */
export async function introspectByCall(
  recorder: Recorder,
  introspector: Introspector,
  caller: Caller,
  type: TokenType,
  token: string,
  basis?: string,
): Promise<void> {
  await recorder.record(
    introspection(caller, type, token, basis),
    0,
    async () => introspector.introspect(token, { fresh: true }).catch(unlessUnavailable),
    (answer) => {
      if (answer === undefined) return { outcome: { result: 'unavailable', status: 503 } };
      if (!answer.active) return { outcome: { result: 'inactive', status: 200 } };
      const said = { tenant: answer.tenantId, clientId: answer.clientId, subject: answer.sub };
      return { outcome: { result: 'good', status: 200 }, said };
    },
  );
}

/** Undefined if the server is unavailable; throws any other failure. */
function unlessUnavailable(error: unknown): undefined {
  if (error instanceof IntrospectionError && unavailableCodes.has(error.code)) return undefined;
  throw error;
}

const unavailableCodes = new Set<string>(['unavailable', 'deadline_exceeded']);
