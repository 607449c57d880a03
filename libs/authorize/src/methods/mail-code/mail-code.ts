import type { DirectoryClient } from '@tessera/directory-client';
import { startOf } from '@tessera/kit';
import { hasTwoFactors, mailCodeAlone, mailCodeSecond } from '@tessera/oauth';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import { Code, ConnectError, type Client } from '@tessera/rpc';
import type { BrowserCall } from '../../browser-call.ts';
import { findPerson } from '../../limits/find-person.ts';
import { factorSince, longestIdentifier } from '../../limits/guess-counters.ts';
import type { LimitGuesses } from '../../limits/guess-limits.ts';
import type { Visit } from '../../store/visit-store.ts';
import type { Fields, Policy, Step, StepResult, Verified } from '../../visits/step.ts';
import { maskedAddress } from './masked-address.ts';

export interface MailCodeDeps {
  readonly directoryService: Pick<
    Client<typeof DirectoryService>,
    'findUser' | 'requestMailCode' | 'sendMailCode' | 'verifyMailCode'
  >;
  readonly directory: Pick<DirectoryClient, 'user' | 'isActive'>;
  readonly limitGuesses: LimitGuesses;
}

const name = 'mail_code';

/** Its guesses have counters of their own. */
const factor = 'mail_code';

/** What the visit remembers of a code that was not sent; of others it remembers who asked, as typed, or nothing. */
const unsent = '\0unsent';

/**
 * A code by mail, where the tenant allows it: the fields `mail_code`, and `identifier` with an empty code to ask for
 * one in place of the password; `mail_code_again` for another code, `mail_code_back` for the password. Due for who has
 * asked, and as the second factor of who has no other. Known and unknown people get the same answers.
 */
export function createMailCodeStep({ directoryService, directory, limitGuesses }: MailCodeDeps): Step {
  const { send, request } = createSending(directoryService);

  async function judge(
    from: BrowserCall,
    visit: Visit,
    { clientId }: Policy,
    code: string,
  ): Promise<StepResult> {
    const { tenantId, person, seed: visitSeed } = visit;
    const userId = person?.userId ?? '';

    async function check(): Promise<Verified | undefined> {
      const { ipAddress } = from.browser;
      const presented = { tenantId, userId, visit: visitSeed, code, ipAddress };
      const { user, signedInAtMs } = await directoryService.verifyMailCode(presented, from.call.onward());
      if (user?.tenantId !== tenantId || !directory.isActive(user)) return undefined;
      if (person !== undefined && user.userId !== userId) return undefined;
      const methods = person === undefined ? ['otp'] : ['otp', 'mfa'];
      return { outcome: 'verified', user, signedInAt: Number(signedInAtMs), methods };
    }

    const begins = person === undefined;
    const identifier = begins ? (visit.sent?.[name] ?? '') : userId;
    const verified = await limitGuesses(
      from,
      { tenantId, clientId, identifier, factor, begins },
      {
        async whose() {
          const user = begins
            ? await findPerson(directoryService, from, { tenantId, identifier })
            : await directory.user(tenantId, userId, from.call.onward());
          if (user === undefined && begins) return undefined;
          const lockedDownAt = user?.lockedDownAt ?? 0n;
          return { userId: user?.userId ?? userId, since: factorSince(user), lockedDownAt };
        },
        check,
      },
    );
    return verified ?? { outcome: 'refused', problem: 'wrong_mail_code' };
  }

  async function take(from: BrowserCall, visit: Visit, policy: Policy, fields: Fields): Promise<StepResult> {
    const { [name]: code = '', identifier: typed = '', mail_code_again: again = '' } = fields;
    const { person, sent: { [name]: asked, ...others } = {} } = visit;
    const changed = (sent: Visit['sent']): StepResult => ({ outcome: 'changed', visit: { ...visit, sent } });
    if (person === undefined) {
      if (!allowsAlone(policy)) return { outcome: 'refused', problem: 'no_mail_code' };
      if (fields['mail_code_back'] === 'yes') return changed(others);
      if (asked === undefined || again === 'yes') {
        const identifier = asked ?? typed;
        if (identifier.trim() === '') return { outcome: 'refused', problem: 'no_identifier' };
        const kept = await request(from, visit, policy, identifier);
        if (kept === undefined) return { outcome: 'refused', problem: 'no_mail_code' };
        return changed({ ...others, [name]: kept });
      }
    } else if (again === 'yes') return changed({ ...others, [name]: await send(from, visit, policy) });
    if (code.trim() === '') return { outcome: 'refused', problem: 'incomplete_mail_code' };
    return judge(from, visit, policy, code);
  }

  return {
    name,
    insteadOf: ['password'],
    storesVisit: true,
    enter: send,
    take,

    async isDue({ call }, { tenantId, person, sent, totpStep }, policy) {
      if (person === undefined) return sent?.[name] !== undefined && allowsAlone(policy);
      const { needsTwoFactors, needsPhishingResistance } = policy;
      if (!needsTwoFactors || needsPhishingResistance || !allowsSecond(policy)) return false;
      // A second code to the same mailbox would be no second factor.
      if (hasTwoFactors(person.methods) || person.methods.includes('otp')) return false;
      if (totpStep !== undefined) return false;
      const user = await directory.user(tenantId, person.userId, call.onward());
      return user !== undefined && user.secondFactors.length === 0 && user.email !== '';
    },

    async shown({ call }, { tenantId, person, sent, seed }, policy) {
      const asked = sent?.[name];
      if (person === undefined) {
        if (asked !== undefined) return { mail_code_for: asked };
        return seed !== undefined && allowsAlone(policy) ? { mail_code: 'offered' } : {};
      }
      if (asked === unsent) return { mail_code_unsent: 'yes' };
      const user = await directory.user(tenantId, person.userId, call.onward());
      return { mail_code_to: maskedAddress(user?.email ?? '') };
    },
  };
}

/** The ways to have a code sent. */
function createSending(
  directoryService: Pick<MailCodeDeps['directoryService'], 'requestMailCode' | 'sendMailCode'>,
) {
  /** Sends a code to who is known. */
  async function send(from: BrowserCall, visit: Visit, policy: Policy): Promise<string> {
    const { person, tenantId } = visit;
    if (person === undefined) throw new Error('a code is sent to nobody');
    const asked = { tenantId, userId: person.userId, ...about(from, visit, policy) };
    const answer = await unlessClosed(directoryService.sendMailCode(asked, from.call.onward()));
    return answer?.sent === true ? '' : unsent;
  }

  /**
   * Keeps a request for a code and returns the identifier that was typed; undefined where the tenant no longer allows
   * it.
   */
  async function request(
    from: BrowserCall,
    visit: Visit,
    policy: Policy,
    typed: string,
  ): Promise<string | undefined> {
    const identifier = startOf(typed.trim(), longestIdentifier);
    const issuerTenantId = from.browser.tenantId;
    const asked = { tenantId: policy.tenantId, issuerTenantId, identifier, ...about(from, visit, policy) };
    const kept = await unlessClosed(directoryService.requestMailCode(asked, from.call.onward()));
    return kept && identifier;
  }

  return { send, request };
}

/** Undefined if the directory, which knows first, no longer allows it. */
async function unlessClosed<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    const isClosed =
      error instanceof ConnectError && [Code.NotFound, Code.FailedPrecondition].includes(error.code);
    if (!isClosed) throw error;
    return undefined;
  }
}

function allowsAlone({ sendsMail, signInMethods }: Policy): boolean {
  return sendsMail && signInMethods.includes(mailCodeAlone);
}

function allowsSecond({ sendsMail, signInMethods }: Policy): boolean {
  return sendsMail && (signInMethods.includes(mailCodeSecond) || signInMethods.includes(mailCodeAlone));
}

/** Of the visit and its browser, for the directory. */
function about({ browser }: BrowserCall, { seed }: Visit, { request }: Policy) {
  const languages = [request?.form.uiLocales ?? '', browser.languages].filter((tags) => tags !== '');
  return { visit: seed, languages: languages.join(' '), ipAddress: browser.ipAddress };
}
