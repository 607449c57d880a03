import type { JsonObject } from '@bufbuild/protobuf';
import { URI, type TOTP } from 'otpauth';
import { randomBytes } from 'node:crypto';
import { eventually, SoftwareAuthenticator } from '@tessera/test-kit';
import { textAt } from './crossings.ts';
import type { NamedCalls } from './named-calls.ts';
import type { Names } from './names.ts';
import type { Visits } from './visits.ts';

export type Noun = 'User' | 'Application' | 'Resource' | 'Role';

/** New records of a tenant, and new people with what they sign in with. */
export function newPeopleOf(names: Names, calls: NamedCalls, visits: Visits) {
  const records = recordsOf(names, calls, visits);
  return { ...records, ...waysInOf(names, calls, visits, records) };
}

/** What administration makes, and what identifies what there is. */
function recordsOf({ id: tenantId }: Names, calls: NamedCalls, { session }: Visits) {
  /** A name that no other record has, and says whose it is. */
  const newName = (): string => `${tenantId}-${randomBytes(5).toString('hex')}`;

  /** A new record of a kind, made through administration. */
  const record = (noun: Noun, fields: JsonObject): Promise<JsonObject> =>
    calls.get(`admin.${noun}sService.Create`, { tenantId, [noun.toLowerCase()]: fields });

  /** A new person, as calls name them. */
  async function newPerson(fields: JsonObject = {}) {
    const person = await record('User', { username: newName(), ...fields });
    return { tenantId, userId: textAt(person, 'userId') };
  }

  return {
    newName,
    record,
    newPerson,

    /** Deletes a record that administration made. */
    forget: (noun: Noun, key: JsonObject): Promise<JsonObject> =>
      calls.get(`admin.${noun}sService.Delete`, { tenantId, ...key }),

    /** The identifier of a new secret of an application. */
    async newSecret(clientId: string): Promise<string> {
      const made = await calls.get('admin.ApplicationsService.CreateSecret', { tenantId, clientId });
      return textAt(made, 'secretId');
    },

    /** A one-time link of a new person. */
    async passwordLink(): Promise<string> {
      const asked = { ...(await newPerson()), purpose: 'invitation' };
      const made = await calls.get('admin.UsersService.CreatePasswordLink', asked);
      return new URL(textAt(made, 'uri')).searchParams.get('link') ?? '';
    },

    /** A mail to a new person, and who that is. An attempt has failed, so it is not being sent for some seconds. */
    async waitingMail() {
      const { userId } = await newPerson({ email: `${newName()}@example.com` });
      const asked = { tenantId, userId, purpose: 'invitation', mail: true };
      await calls.get('admin.UsersService.CreatePasswordLink', asked);
      let mailId = '';
      await eventually('the mail was tried', async () => {
        const { mail } = await calls.get('admin.MailService.List', { tenantId, userId, state: 'failed' });
        const [found] = (mail ?? []) as JsonObject[];
        if (found !== undefined) mailId = textAt(found, 'mailId');
        return mailId !== '';
      });
      return { userId, mailId };
    },

    /** Of the key of the tenant that signs. */
    async kid(): Promise<string> {
      const { keys } = await calls.get('KeysService.GetPublicKeys', { tenantId, algorithms: ['RS256'] });
      return textAt(
        (keys as JsonObject[]).find(({ state }) => state === 'KEY_STATE_ACTIVE'),
        'kid',
      );
    },

    /** Of a grant that the person of `session` has given. */
    async grantId(): Promise<string> {
      const { userId } = await session();
      const { grants } = await calls.get('admin.GrantsService.List', { tenantId, userId });
      return textAt((grants as JsonObject[])[0], 'grantId');
    },
  };
}

type Records = ReturnType<typeof recordsOf>;
type Person = Awaited<ReturnType<Records['newPerson']>>;

/** What new people sign in with. */
function waysInOf(
  names: Names,
  calls: NamedCalls,
  { session, signedIn }: Visits,
  { newName, newPerson }: Records,
) {
  const { id: tenantId, provider, providerIssuer, password } = names;

  /** An authenticator app that a new person may enrol. */
  const proposal = async () => ({ ...(await newPerson()), seed: newName() });

  /** The codes of that app, of this time step and of the next. Both are taken for at least 30 s. */
  async function codeOf(proposed: JsonObject) {
    const { uri } = await calls.get('DirectoryService.ProposeTotp', proposed);
    const app = URI.parse(textAt(uri)) as TOTP;
    const now = Date.now();
    return { code: app.generate({ timestamp: now }), next: app.generate({ timestamp: now + 30_000 }) };
  }

  /** Enrols an app; resolves with the next code. */
  async function enrolApp(proposed: JsonObject): Promise<string> {
    const { code, next } = await codeOf(proposed);
    const { timeStep } = await calls.get('DirectoryService.VerifyProposedTotp', { ...proposed, code });
    await calls.get('DirectoryService.AdoptProposal', { ...proposed, timeStep: textAt(timeStep) });
    return next;
  }

  /** A passkey that somebody may enrol, as the browser has made it. */
  async function newPasskey(person: Person) {
    const { origin, hostname: rpId } = new URL(names.issuer);
    const key = new SoftwareAuthenticator(origin, true);
    const asked = () => ({ rpId, origin, challenge: randomBytes(32).toString('base64url') });
    const proposed = { ...person, ceremony: asked() };
    const { options } = await calls.get('DirectoryService.ProposePasskey', proposed);
    const response = key.create(textAt(options));
    return { key, asked, proposal: proposed, enrolment: { ...proposed, response } };
  }

  /** Enrols a new passkey. */
  async function enrolPasskey(person: Person) {
    const { key, asked, enrolment } = await newPasskey(person);
    await calls.get('DirectoryService.EnrolPasskey', enrolment);
    const credentialId = textAt(JSON.parse(enrolment.response) as JsonObject, 'id');
    return { key, asked, held: { ...person, credentialId } };
  }

  /** A new person who signs in with the provider, too, and what that takes. */
  async function linked() {
    const username = newName();
    const link = { ...(await newPerson({ username, password })), provider };
    const identity = { issuer: providerIssuer, subject: newName() };
    await calls.get('PersonService.LinkOwnProvider', { ...link, ...identity });
    return { username, link };
  }

  let own: Promise<Person & { readonly credentialId: string }> | undefined;

  return {
    proposal,
    codeOf,
    newPasskey: async () => newPasskey(await newPerson()),
    linked,

    /** A code of an app that a new person has enrolled. */
    async secondFactor() {
      const person = await newPerson();
      return { ...person, code: await enrolApp({ ...person, seed: newName() }) };
    },

    /** A passkey of the person of `session`. */
    ownPasskey: () =>
      (own ??= session()
        .then(({ userId }) => enrolPasskey({ tenantId, userId }))
        .then(({ held }) => held)),

    /** A passkey of a new person who has a password, too. */
    heldPasskey: async () => (await enrolPasskey(await newPerson({ password }))).held,

    /** What the passkey of a new person has signed. */
    async signedByPasskey() {
      const { key, asked } = await enrolPasskey(await newPerson());
      const ceremony = asked();
      return { ceremony, response: key.get(ceremony) };
    },

    /** A new person who has signed in with a second factor, and has a passkey too. */
    async sureOfPasskey() {
      const identifier = newName();
      const person = await newPerson({ username: identifier, password });
      const { held } = await enrolPasskey(person);
      const totpCode = await enrolApp({ ...person, seed: newName() });
      return { browser: await signedIn({ identifier, password }, totpCode), passkeyId: held.credentialId };
    },

    /** A browser in which a person has just signed in who signs in with the provider, too. */
    async sureOfProvider() {
      const { username: identifier } = await linked();
      return { browser: await signedIn({ identifier, password }), provider };
    },
  };
}
