import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Answer,
  type Ask,
  type Dialect,
  type HttpClient,
  tokenRequest,
  tokensOf,
  type Tokens,
} from '@tessera/test-client';
import { secretOf } from '../system/declared-state.ts';
import { nameOf, type Delivered, type Operation } from '../history/history.ts';
import { outcomeOf, type Facts, type Reading, type Recorder } from '../history/recorder.ts';

/** What the clients of a run share: the address of the system, and the record of the run. */
export interface Surroundings {
  readonly http: HttpClient;
  readonly recorder: Recorder;
  /** False at the end of a run: clients finish what they are doing and start nothing new. */
  readonly running: () => boolean;
  /** Aborted when unfinished work is abandoned too. */
  readonly signal: AbortSignal;
}

interface Sent {
  readonly operation: Operation;
  readonly answer: Answer | undefined;
  readonly tokens?: Tokens | undefined;
}

const afterLossMs = 250;

/**
 * A correct client: it repeats a request that was answered with 503 or not at all, after the time in Retry-After
 * (RFC 9110 §10.2.3). It accepts every other response.
 */
export class Caller {
  readonly #on: Surroundings;
  readonly name: string;
  readonly tenant: string;
  readonly clientId: string;
  readonly person: string;
  readonly dialect: Dialect;

  constructor(
    on: Surroundings,
    who: { name: string; tenant: string; clientId: string; person?: string; dialect?: Dialect },
  ) {
    this.#on = on;
    this.name = who.name;
    this.tenant = who.tenant;
    this.clientId = who.clientId;
    this.person = who.person ?? '';
    this.dialect = who.dialect ?? 'contract';
  }

  facts(kind: Operation['kind'], more: Partial<Facts> = {}): Facts {
    const { name: actor, tenant, clientId, person } = this;
    return { kind, actor, tenant, clientId, person, ...more };
  }

  /** Repeats one request until it is answered; undefined if the run ends first. */
  async patiently(
    facts: Facts,
    send: (id: string) => Promise<Answer>,
    read: (answer: Answer) => Reading = (answer) => ({ outcome: outcomeOf(answer) }),
  ): Promise<Sent | undefined> {
    const { recorder, signal } = this.#on;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const sent = await recorder.record(facts, attempt, send, read);
      const { result } = sent.operation.outcome;
      if (result !== 'unavailable' && result !== 'lost') return sent;
      const seconds = Number(sent.answer?.header('retry-after') ?? 0);
      await sleep(seconds > 0 ? seconds * 1000 : afterLossMs, undefined, { signal }).catch(() => undefined);
    }
    return undefined;
  }

  async ask(
    facts: Facts,
    method: string,
    path: string,
    request: Ask = {},
    read?: (answer: Answer) => Reading,
  ): Promise<Sent | undefined> {
    return this.patiently(facts, this.sender(method, path, request), read);
  }

  sender(method: string, path: string, request: Ask = {}): (id: string) => Promise<Answer> {
    return async (id) =>
      this.#on.http.ask(method, path, {
        ...request,
        headers: { ...request.headers, ...passedOn(id) },
      });
  }

  /** A token request, from the contract's names. */
  async token(
    facts: Facts,
    request: Readonly<Record<string, string | undefined>>,
  ): Promise<Sent | undefined> {
    const sent = await this.patiently(facts, this.#tokenSender(request), (answer) =>
      this.#readTokens(answer),
    );
    return sent && { ...sent, tokens: tokensIn(sent.answer) };
  }

  /** The same without a retry, for clients that send a request several times in parallel. */
  async tokenOnce(facts: Facts, request: Readonly<Record<string, string | undefined>>): Promise<Sent> {
    const sent = await this.#on.recorder.record(facts, 0, this.#tokenSender(request), (answer) =>
      this.#readTokens(answer),
    );
    return { ...sent, tokens: tokensIn(sent.answer) };
  }

  #tokenSender(request: Readonly<Record<string, string | undefined>>): (id: string) => Promise<Answer> {
    const { clientId } = this;
    const body = tokenRequest(this.dialect, { clientId, clientSecret: secretOf(clientId), ...request });
    return this.sender('POST', '/token', body);
  }

  #readTokens(answer: Answer): Reading {
    const outcome = outcomeOf(answer);
    if (outcome.result !== 'good') return { outcome };
    const { recorder } = this.#on;
    const { accessToken, idToken, refreshToken } = tokensOf(answer);
    const delivered: Delivered[] = [recorder.delivered('access', accessToken)];
    if (idToken !== undefined) delivered.push(recorder.delivered('id', idToken));
    if (refreshToken !== undefined) delivered.push({ type: 'refresh', hash: nameOf(refreshToken) });
    return { outcome, delivered };
  }
}

/**
 * The headers of a reverse proxy: a request id, by which the audit trail shows the attempt, and an internal address.
 */
export const passedOn = (id: string): Record<string, string> => ({
  'x-request-id': id,
  'x-forwarded-for': '10.0.0.7',
});

const tokensIn = (answer: Answer | undefined): Tokens | undefined =>
  answer?.status === 200 ? tokensOf(answer) : undefined;
