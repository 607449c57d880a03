import { setTimeout as sleep } from 'node:timers/promises';
import { decideDevice, pollRequest, type ApprovalFlow, type Person } from '@tessera/test-client';
import type { Received, Receiver } from '@tessera/test-kit/provision';
import type { Caller, Surroundings } from './caller.ts';
import { nameOf } from '../history/history.ts';
import { outcomeOf, type Reading } from '../history/recorder.ts';
import type { Grant } from './browser.ts';

const pollMs = 1_100;
/** Polls until there are tokens or the request has ended. */
async function poll(
  on: Surroundings,
  caller: Caller,
  flow: ApprovalFlow,
  value: string,
): Promise<Grant | undefined> {
  const basis = `grant:${nameOf(value)}`;
  const facts = caller.facts('poll', { presented: nameOf(value), basis });
  const request = pollRequest(flow, caller.dialect, value);
  for (let polls = 0; polls < 60 && !on.signal.aborted; polls += 1) {
    const sent = await caller.token(facts, request);
    if (sent?.tokens !== undefined) return { basis, tokens: sent.tokens };
    if (sent?.operation.outcome.result !== 'waiting') return undefined;
    await sleep(sent.operation.outcome.error === 'slow_down' ? 2 * pollMs : pollMs);
  }
  return undefined;
}

/** Records the values of the response that started a flow. */
const started =
  (name: string) =>
  (answer: Parameters<typeof outcomeOf>[0]): Reading => {
    const outcome = outcomeOf(answer);
    if (outcome.result !== 'good') return { outcome };
    const value = String(answer.json()[name]);
    return { outcome, delivered: [{ type: 'one-time', hash: nameOf(value) }] };
  };

/** A device, and the person who approves it on the page. */
export async function connectDevice(
  on: Surroundings,
  caller: Caller,
  approver: Person,
): Promise<Grant | undefined> {
  const form = { client_id: caller.clientId, scope: `openid offline_access ${caller.tenant}.read` };
  const begun = await caller.ask(
    caller.facts('device-start'),
    'POST',
    '/device_authorization',
    { form },
    started('device_code'),
  );
  if (begun?.answer?.status !== 200) return undefined;
  const { device_code: deviceCode, user_code: userCode } = begun.answer.json();
  const facts = caller.facts('approve', { presented: nameOf(String(deviceCode)) });
  for (let attempt = 0; attempt < 30 && !on.signal.aborted; attempt += 1) {
    const { operation } = await on.recorder.record(
      facts,
      attempt,
      async () => decideDevice(approver, String(userCode), 'approve').catch(statusIn),
      (page) => {
        if (page === 503 || page === 429) return { outcome: { result: 'unavailable', status: page } };
        if (typeof page === 'number') return { outcome: { result: 'refused', status: page } };
        if (page.text.includes('Device connected')) return { outcome: { result: 'good', status: 200 } };
        return { outcome: page.status === 200 ? { result: 'refused', status: 200 } : outcomeOf(page) };
      },
    );
    if (operation.outcome.result !== 'unavailable' && operation.outcome.result !== 'lost') break;
    await sleep(500);
  }
  return poll(on, caller, 'device', String(deviceCode));
}

/** The outcome of a page without the expected form; a lost response stays lost. */
function statusIn(error: unknown): number {
  const status = error instanceof Error ? /status (\d{3})$/.exec(error.message)?.[1] : undefined;
  if (status === undefined) throw error;
  return Number(status);
}

/** The token of the decision link in each notification, to search the output for. */
export const decisionTokens = ({ received }: Receiver): string[] =>
  received.map((one) => decisionLink(one).searchParams.get('token') ?? '');

const dataOf = (one: Received) => one.json()['data'] as Readonly<Record<string, string>>;
const decisionLink = (one: Received): URL => new URL(dataOf(one)['decision_uri'] ?? '');

/** A CIBA request, approved with the link of the notification. */
export async function askElsewhere(
  on: Surroundings,
  caller: Caller,
  notifications: Receiver,
  secret: string | undefined,
): Promise<Grant | undefined> {
  const bindingMessage = `order ${on.recorder.newId()}`;
  const form = {
    client_id: caller.clientId,
    scope: `openid offline_access ${caller.tenant}.read`,
    login_hint: caller.person,
    binding_message: bindingMessage,
    requested_expiry: '60',
    ...(secret === undefined ? {} : { client_secret: secret }),
  };
  const begun = await caller.ask(
    caller.facts('ciba-start'),
    'POST',
    '/backchannel_authentication',
    { form },
    started('auth_req_id'),
  );
  if (begun?.answer?.status !== 200) return undefined;
  const authReqId = String(begun.answer.json()['auth_req_id']);
  const isOfThis = (one: Received) => dataOf(one)['binding_message'] === bindingMessage;
  // A notification may be lost.
  const notified = await notifications.got('a notification', isOfThis, 5_000).catch(() => undefined);
  if (notified === undefined) return undefined;
  const { pathname, search } = decisionLink(notified);
  const facts = caller.facts('approve', { presented: nameOf(authReqId) });
  await caller.ask(facts, 'POST', `${pathname}${search}`, { json: { decision: 'approve' } });
  return poll(on, caller, 'ciba', authReqId);
}
