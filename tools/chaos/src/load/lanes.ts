import { setTimeout as sleep } from 'node:timers/promises';
import type { Introspector } from '@tessera/introspection-client';
import type { Receiver } from '@tessera/test-kit/provision';
import { type Dialect, newPkce, Person } from '@tessera/test-client';
import { Caller, type Surroundings } from './caller.ts';
import { leaver, loginOf, persons, secretOf, tenants } from '../system/declared-state.ts';
import { nameOf } from '../history/history.ts';
import { outcomeOf } from '../history/recorder.ts';
import { redemptionOf, Visitor, type Code, type Grant } from './browser.ts';
import { askElsewhere, connectDevice } from './out-of-band.ts';
import { introspect, introspectByCall, refresh, revoke, userinfo } from './steps.ts';

export interface LoadOptions {
  readonly on: Surroundings;
  readonly notifications: Receiver;
  /** Absent if no process serves introspection over gRPC. */
  readonly introspector: Introspector | undefined;
  /** Pause of each client between two steps, in milliseconds. */
  readonly pauseMs: number;
  /** Every grant of the run with its newest tokens, for the final sweep. */
  readonly grants: (grant: Grant, caller: Caller) => void;
}

/** One virtual client, which runs until the end of the run. */
type Lane = () => Promise<void>;

/** Mixed closed-loop clients of both tenants in both dialects. */
export class Load {
  readonly #options: LoadOptions;
  readonly #on: Surroundings;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#on = options.on;
  }

  lanes(): Lane[] {
    const [ada, bob, cleo, dan] = persons;
    return tenants.flatMap((tenant, at) => {
      const dialect: Dialect = at === 0 ? 'contract' : 'standard';
      const caller = (name: string, app: string, person?: string): Caller =>
        new Caller(this.#on, {
          name: `${name}@${tenant}`,
          tenant,
          clientId: `${tenant}-${app}`,
          dialect,
          ...(person === undefined ? {} : { person }),
        });
      return [
        () => this.#visits(caller('web', 'web', ada), 'revoke'),
        () => this.#visits(caller('spa', 'spa', bob), 'logout'),
        () => this.#staysSignedIn(caller('app', 'web', cleo)),
        () => this.#service(caller('service', 'service')),
        () => this.#device(caller('tv', 'tv', dan)),
        () => this.#backchannel(caller('desk', 'desk', ada)),
        () => this.#impatient(caller('impatient', 'web', bob)),
        () => this.#leaves(caller('leaver', 'web', leaver)),
        () => this.#documents(caller('documents', 'web')),
      ];
    });
  }

  async #pause(): Promise<void> {
    // Spread, so that clients do not run in lockstep.
    await sleep(this.#options.pauseMs * (0.5 + Math.random()), undefined, { signal: this.#on.signal }).catch(
      () => undefined,
    );
  }

  #keep(grant: Grant | undefined, caller: Caller): Grant | undefined {
    if (grant !== undefined) this.#options.grants(grant, caller);
    return grant;
  }

  /** Introspects over gRPC if it is served, and over HTTP. */
  async #introspectBoth(caller: Caller, type: 'access' | 'refresh', { basis, tokens }: Grant): Promise<void> {
    const token = tokens[`${type}Token`];
    if (token === undefined) return;
    await introspect(caller, type, token, basis);
    const { introspector } = this.#options;
    if (introspector !== undefined)
      await introspectByCall(this.#on.recorder, introspector, caller, type, token, basis);
  }

  /** Signs in, uses the tokens, returns by single sign-on, and ends the grant or the session. */
  async #visits(caller: Caller, end: 'revoke' | 'logout'): Promise<void> {
    while (this.#on.running()) {
      const visitor = new Visitor(this.#on, caller);
      const code = await visitor.code();
      const grant = code && this.#keep(await visitor.redeem(code), caller);
      await this.#pause();
      if (grant === undefined) continue;
      await userinfo(caller, grant);
      await this.#introspectBoth(caller, 'access', grant);
      for (let times = 0; times < 3; times += 1) {
        await this.#pause();
        if (!(await refresh(caller, grant))) break;
        await this.#introspectBoth(caller, 'refresh', grant);
      }
      const again = await visitor.code();
      await this.#pause();
      const second = again && this.#keep(await visitor.redeem(again), caller);
      if (end === 'revoke' && second !== undefined) await this.#revokes(caller, second);
      if (end === 'logout') await this.#signsOut(visitor);
      await this.#pause();
    }
  }

  /** A revoked token stays revoked at every replica. */
  async #revokes(caller: Caller, grant: Grant): Promise<void> {
    await revoke(caller, grant);
    await this.#introspectBoth(caller, 'refresh', grant);
    await this.#pause();
    await refresh(caller, grant);
    await revoke(caller, grant);
  }

  /** Copied cookies are useless after the person has signed out. */
  async #signsOut(visitor: Visitor): Promise<void> {
    const cookies = new Map(visitor.person.cookies);
    await visitor.signOut();
    for (const [name, value] of cookies) visitor.person.cookies.set(name, value);
    for (let times = 0; times < 2; times += 1) {
      await this.#pause();
      await visitor.authorize(newPkce().challenge);
    }
  }

  /** Signs in once and refreshes from then on. */
  async #staysSignedIn(caller: Caller): Promise<void> {
    while (this.#on.running()) {
      const visitor = new Visitor(this.#on, caller);
      const code = await visitor.code();
      const grant = code && this.#keep(await visitor.redeem(code), caller);
      await this.#pause();
      while (grant !== undefined && this.#on.running() && (await refresh(caller, grant))) await this.#pause();
    }
  }

  async #service(caller: Caller): Promise<void> {
    while (this.#on.running()) {
      const facts = caller.facts('client-credentials');
      const scope = `${caller.tenant}.read`;
      const sent = await caller.token(facts, { grantType: 'client_credentials', scope });
      await this.#pause();
      if (sent?.tokens !== undefined)
        await this.#introspectBoth(caller, 'access', { basis: '', tokens: sent.tokens });
      await this.#pause();
    }
  }

  async #device(caller: Caller): Promise<void> {
    const approver = new Person(this.#on.http, loginOf(caller.tenant, caller.person));
    while (this.#on.running()) {
      const grant = this.#keep(await connectDevice(this.#on, caller, approver), caller);
      await this.#pause();
      if (grant !== undefined) await refresh(caller, grant);
      await this.#pause();
    }
  }

  async #backchannel(caller: Caller): Promise<void> {
    const secret = secretOf(caller.clientId);
    while (this.#on.running()) {
      const grant = this.#keep(
        await askElsewhere(this.#on, caller, this.#options.notifications, secret),
        caller,
      );
      await this.#pause();
      if (grant !== undefined) await refresh(caller, grant);
      await this.#pause();
    }
  }

  /** Sends every request several times at once, as a proxy or an impatient person does (fault F18). */
  async #impatient(caller: Caller): Promise<void> {
    const times = [1, 2, 3];
    const visitor = new Visitor(this.#on, caller);
    let spent: Code | undefined;
    while (this.#on.running()) {
      const code = await visitor.code();
      const grant = code && this.#keep(await visitor.redeem(code), caller);
      await this.#pause();
      if (grant?.tokens.refreshToken !== undefined) {
        const { refreshToken: token } = grant.tokens;
        const facts = caller.facts('refresh', { presented: nameOf(token), basis: grant.basis });
        const request = { grantType: 'refresh_token', refreshToken: token };
        const sent = await Promise.all(times.map(() => caller.tokenOnce(facts, request)));
        grant.tokens = sent.find(({ tokens }) => tokens !== undefined)?.tokens ?? grant.tokens;
        await refresh(caller, grant);
      }
      const again = await visitor.code();
      if (again !== undefined) {
        const basis = `grant:${nameOf(again.value)}`;
        const facts = caller.facts('redeem', { presented: nameOf(again.value), basis });
        const sent = await Promise.all(times.map(() => caller.tokenOnce(facts, redemptionOf(again))));
        for (const { tokens } of sent) if (tokens !== undefined) this.#keep({ basis, tokens }, caller);
      }
      // A token stays used, even if a store has lost data since.
      if (spent !== undefined) await visitor.redeem(spent);
      spent = again;
      await this.#pause();
    }
  }

  /** A person who is disabled during the run; their grant is used repeatedly. */
  async #leaves(caller: Caller): Promise<void> {
    const visitor = new Visitor(this.#on, caller);
    const code = await visitor.code();
    const grant = code && this.#keep(await visitor.redeem(code), caller);
    if (grant === undefined) return;
    this.leavers.push(grant.basis, ...(visitor.session === undefined ? [] : [visitor.session]));
    this.#leaversHere += 1;
    while (this.#on.running()) {
      await refresh(caller, grant);
      await this.#introspectBoth(caller, 'refresh', grant);
      await visitor.authorize(newPkce().challenge);
      await sleep(4 * this.#options.pauseMs);
    }
  }

  /** What ends when the leavers are disabled. */
  readonly leavers: string[] = [];
  #leaversHere = 0;

  allLeaversHere(): boolean {
    return this.#leaversHere === tenants.length;
  }

  async #documents(caller: Caller): Promise<void> {
    while (this.#on.running()) {
      await this.#keySet(caller);
      await caller.ask(caller.facts('metadata'), 'GET', '/.well-known/openid-configuration');
      await sleep(2 * this.#options.pauseMs);
    }
  }

  async #keySet(caller: Caller): Promise<void> {
    const { recorder } = this.#on;
    await caller.ask(caller.facts('keys'), 'GET', '/.well-known/jwks.json', {}, (answer) => {
      const outcome = outcomeOf(answer);
      return outcome.result === 'good'
        ? { outcome, published: recorder.keys.add(answer.json()) }
        : { outcome };
    });
  }

  /** The keys published before the first token is delivered. */
  async firstKeySet(): Promise<void> {
    const [tenant] = tenants;
    await this.#keySet(new Caller(this.#on, { name: 'first', tenant, clientId: `${tenant}-web` }));
  }
}
