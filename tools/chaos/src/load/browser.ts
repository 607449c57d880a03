import { authorizationQuery, formsOf, newPkce, Person, type Answer, type Tokens } from '@tessera/test-client';
import { passedOn, type Caller, type Surroundings } from './caller.ts';
import { loginOf, redirectUri } from '../system/declared-state.ts';
import { nameOf } from '../history/history.ts';
import { outcomeOf, type Reading } from '../history/recorder.ts';

export interface Code {
  readonly value: string;
  readonly verifier: string;
}

/** A grant and its newest tokens. */
export interface Grant {
  /** Identifies it in the history. */
  readonly basis: string;
  tokens: Tokens;
}

const given = (result: 'good' | 'sent-away' | 'waiting', answer: Answer): Reading => ({
  outcome: { result, status: answer.status },
});

/** A person with a browser, and the application that sends them to sign in. */
export class Visitor {
  readonly #on: Surroundings;
  readonly caller: Caller;
  readonly person: Person;
  /** Identifies the session in the history; new with every sign-in. */
  session: string | undefined;
  #sessions = 0;

  constructor(on: Surroundings, caller: Caller) {
    this.#on = on;
    this.caller = caller;
    this.person = new Person(on.http, loginOf(caller.tenant, caller.person));
  }

  /** Gets a code, by signing in if asked; starts over if a step fails. Undefined at the end of the run. */
  async code(): Promise<Code | undefined> {
    while (!this.#on.signal.aborted) {
      const { verifier, challenge } = newPkce();
      const location = await this.authorize(challenge);
      if (location === undefined) return undefined;
      const value = codeIn(location);
      if (value !== undefined) return { value, verifier };
      if (!location.startsWith('/login')) return undefined;
      const signedIn = await this.#signIn(location);
      if (signedIn !== undefined) return { value: signedIn, verifier };
      if (!this.#on.running()) return undefined;
    }
    return undefined;
  }

  /** Where `/authorize` sends the browser. With a session, anything but a code means that the session has ended. */
  async authorize(challenge: string, more: Record<string, string> = {}): Promise<string | undefined> {
    const { caller, person, session } = this;
    const query = authorizationQuery({
      client_id: caller.clientId,
      redirect_uri: redirectUri,
      scope: `openid profile offline_access ${caller.tenant}.read`,
      code_challenge: challenge,
      ...more,
    });
    const facts = caller.facts('authorize', session === undefined ? {} : { basis: session });
    const sent = await caller.patiently(
      facts,
      (id) => person.get(`/authorize?${query}`, passedOn(id)),
      (answer) => {
        if (answer.status !== 302) return { outcome: outcomeOf(answer) };
        const location = answer.header('location') ?? '';
        const code = codeIn(location);
        if (code !== undefined) return { ...given('good', answer), delivered: [oneTime(code)] };
        // Without a session, the sign-in page is the expected response.
        return {
          ...given(session === undefined ? 'waiting' : 'sent-away', answer),
          delivered: [oneTime(location)],
        };
      },
    );
    return sent?.answer?.header('location');
  }

  /** Submits the sign-in form; undefined if that led to no code. */
  async #signIn(path: string): Promise<string | undefined> {
    const { caller, person } = this;
    const interaction = nameOf(path);
    // This session replaces an earlier one.
    this.session = undefined;
    const page = await caller.patiently(
      caller.facts('page', { presented: interaction }),
      (id) => person.get(path, passedOn(id)),
      (answer) =>
        formsOf(answer).some(({ fields }) => fields.has('password'))
          ? given('good', answer)
          : { outcome: answer.status === 200 ? { result: 'refused', status: 200 } : outcomeOf(answer) },
    );
    const form = page?.answer && formsOf(page.answer).find(({ fields }) => fields.has('password'));
    if (form === undefined) return undefined;
    const { username: identifier, password } = person.login;
    const values = { identifier, password };
    const session = `session:${caller.name}:${(this.#sessions += 1)}:${interaction}`;
    // Not repeated: if the response to a form is lost, the browser starts over.
    const { answer } = await this.#on.recorder.record(
      caller.facts('sign-in', { presented: interaction }),
      0,
      (id) => person.post(form.action, { ...Object.fromEntries(form.fields), ...values }, passedOn(id)),
      (received) => {
        const code = codeIn(received.header('location') ?? '');
        return code === undefined
          ? { outcome: outcomeOf(received) }
          : { ...given('good', received), delivered: [oneTime(code)] };
      },
    );
    const code = codeIn(answer?.header('location') ?? '');
    if (code !== undefined) this.session = session;
    return code;
  }

  /** Tokens for a code; undefined if the code is spent or lost. */
  async redeem(code: Code): Promise<Grant | undefined> {
    const basis = `grant:${nameOf(code.value)}`;
    const facts = this.caller.facts('redeem', { presented: nameOf(code.value), basis });
    const sent = await this.caller.token(facts, redemptionOf(code));
    return sent?.tokens && { basis, tokens: sent.tokens };
  }

  async signOut(): Promise<void> {
    const { caller, person, session } = this;
    if (session === undefined) return;
    await caller.patiently(
      caller.facts('logout', { ends: [session] }),
      (id) => person.get(`/logout?client_id=${caller.clientId}`, passedOn(id)),
      (answer) => (answer.status === 302 ? given('good', answer) : { outcome: outcomeOf(answer) }),
    );
  }
}

export const redemptionOf = ({ value, verifier }: Code): Record<string, string> => ({
  grantType: 'authorization_code',
  code: value,
  codeVerifier: verifier,
  redirectUri,
});

const oneTime = (value: string) => ({ type: 'one-time', hash: nameOf(value) }) as const;

function codeIn(location: string): string | undefined {
  if (!location.startsWith(`${redirectUri}?`)) return undefined;
  return new URL(location).searchParams.get('code') ?? undefined;
}
