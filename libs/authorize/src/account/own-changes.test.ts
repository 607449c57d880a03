import { OwnPage_Name } from '@tessera/proto-gen/authorize';
import { enrolmentCode, passkeyAnswer } from '@tessera/directory-client/testing';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startFakeProvider, type FakeProvider } from '../testing/fake-provider.ts';
import { newPerson, type Person } from '../testing/visitor.ts';
import { createWorld, password, type World } from '../testing/world.ts';

let world: World;
let corp: FakeProvider;
let count = 0;
let username: string;
let userId: string;

beforeAll(async () => {
  world = await createWorld({ config: { TESSERA_ALLOW_PRIVATE: ['providers'] } });
  corp = await startFakeProvider();
  world.directory.providers.add({ name: 'corp', issuer: corp.issuer });
  world.directory.addTenant('acme', { accountClosing: true });
});
afterAll(() => world.service.close());

/** Each test has a person of its own. */
beforeEach(() => {
  username = `eve${(count += 1)}`;
  userId = `acme-${username}`;
  world.directory.addUser(userId, { tenantId: 'acme', username, password });
});

type Fields = Record<string, string>;

/** Opens a page of ours and sends its forms, each made of what the page before it shows. */
async function walk(
  person: Person,
  name: OwnPage_Name,
  ...forms: readonly (readonly [step: string, fields: (shown: Fields) => Fields])[]
): Promise<void> {
  const page = { case: 'page', value: { name, tenantId: 'acme' } } as const;
  let { next } = await world.gateway.begin({ browser: person.context(), visit: page });
  for (const [step, fields] of forms) {
    if (next?.next.case !== 'step') throw new Error(`no step but ${next?.next.case}`);
    const { interaction, shown } = next.next.value;
    const visit = { case: 'interactionId', value: interaction?.interactionId ?? '' } as const;
    const sent = { browser: person.context(), visit, step, fields: fields(shown) };
    const answer = await world.gateway.continue(sent);
    if (answer.session !== undefined) person.sessionToken = answer.session.sessionToken;
    ({ next } = answer);
  }
  expect(next?.next.case).toBe('done');
}

/** The answer of a passkey, as the field of this name. */
const passkeyAs =
  (field: string) =>
  ({ passkey_options: options = '{}', passkey_nonce: nonce = '' }: Fields): Fields => {
    const { challenge = '' } = JSON.parse(options) as { challenge?: string };
    return { [field]: passkeyAnswer(userId, challenge), passkey_nonce: nonce };
  };

const byPassword = ['password', () => ({ identifier: username, password })] as const;
const newPasskey = ['passkey_enrolment', passkeyAs('passkey_created')] as const;
const kept = ['recovery_codes', () => ({ recovery_codes: 'kept' })] as const;

/** Each change, and what the page of the account, or a visit, calls for it. */
const changes: readonly (readonly [method: string, change: (person: Person) => Promise<unknown>])[] = [
  ['changeOwnName', (person) => world.account.changeName({ browser: person.context(), name: 'Eve' })],
  [
    'proposeEmail',
    (person) => world.account.changeEmail({ browser: person.context(), email: 'e@x.example', language: '' }),
  ],
  ['closeOwnAccount', (person) => world.account.closeAccount({ browser: person.context() })],
  [
    'renameOwnPasskey',
    (person) => world.account.renamePasskey({ browser: person.context(), passkeyId: userId, name: 'Key' }),
  ],
  [
    'removeOwnFactor',
    (person) => world.account.removeFactor({ browser: person.context(), passkeyId: userId }),
  ],
  [
    'linkOwnProvider',
    async (person) => {
      const browser = person.context();
      const { location } = await world.account.linkProvider({ browser, provider: 'corp', resume: '' });
      const query = corp.signIn(location, { sub: username }).toString();
      await world.gateway.answerFromProvider({ browser, tenantId: 'acme', provider: 'corp', query });
    },
  ],
  [
    'unlinkOwnProvider',
    (person) => {
      world.directory.providers.bind('acme', 'corp', username, userId);
      return world.account.unlinkProvider({ browser: person.context(), provider: 'corp' });
    },
  ],
  [
    'replacePassword',
    (person) => {
      const passwords = { presentPassword: password, newPassword: 'another of eve' };
      return world.gateway.changePassword({ browser: person.context(), ...passwords });
    },
  ],
  ['enrolPasskey', (person) => walk(person, OwnPage_Name.ADD_PASSKEY, newPasskey)],
  ['adoptProposal', (person) => walk(person, OwnPage_Name.NEW_RECOVERY_CODES, kept)],
];

it.each(changes)('%s says when the session that asks for it signed in', async (method, change) => {
  await world.directory.changeUser(userId, { hasPasskey: true });
  const person = newPerson(world);
  await walk(person, OwnPage_Name.ACCOUNT, ['passkey', passkeyAs('passkey')]);
  await world.database.query({
    name: 'test.age_sessions_of_asking',
    text: `UPDATE authorize.session SET auth_time = auth_time - interval '100 seconds' WHERE user_id = $1`,
    values: [userId],
  });
  const { session } = await world.gateway.getSession({ browser: person.context() });
  world.directory.ownChanges.length = 0;
  await change(person);
  expect(world.directory.ownChanges).toEqual([
    { method, authTime: BigInt(session?.authentication?.time ?? 0) },
  ]);
});

it.each([
  ['enrolPasskey', OwnPage_Name.ADD_PASSKEY, [newPasskey]],
  [
    'adoptProposal',
    OwnPage_Name.ADD_TOTP,
    [['totp_enrolment', () => ({ enrolment_code: enrolmentCode })], kept],
  ],
] as const)('%s in a sign-in says when its first step was taken', async (method, page, forms) => {
  // The directory dates a sign-in of now by it.
  const validFrom = BigInt(Math.floor(Date.now() / 1000) + 100);
  await world.directory.changeUser(userId, { validFrom });
  world.directory.ownChanges.length = 0;
  await walk(newPerson(world), page, byPassword, ...forms);
  expect(world.directory.ownChanges).toEqual([{ method, authTime: validFrom }]);
});
