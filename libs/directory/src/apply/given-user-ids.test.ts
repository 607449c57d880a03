import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { Code, ConnectError, fieldViolations } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, startRecords } from '../testing/start-records.ts';
import { migrations } from '../wiring.ts';

let database: Database;
let count = 0;

beforeAll(async () => {
  database = await testDatabase(migrations);
});

const keptKinds = ['resource', 'role', 'provider', 'user', 'application'];
const password = 'correct horse battery staple';

interface Options {
  readonly keptKinds?: string[];
  readonly deletedUsers?: string[];
  readonly allowDelete?: boolean;
}

/** A directory, and a tenant with an issuer of its own unless it says that it has none. */
async function start({ isShared = false } = {}) {
  const { api, personWith } = startRecords(database);
  const tenantId = `g${(count += 1)}`;
  const head = {
    name: 'Harbour',
    ...(!isShared && { issuer: `https://${tenantId}.example/realms/harbour` }),
  };
  const apply = async (content: object, options: Options = {}) => {
    // A part of the people says nothing of the tenant itself.
    const tenants = [{ id: tenantId, ...(options.keptKinds === undefined && head), ...content }];
    const request = { tenantId, owner: 'moved', document: JSON.stringify({ tenants }), ...options };
    return api.declaredState.apply(request, call());
  };
  await apply({});
  return {
    api,
    tenantId,
    apply,
    personWith: async (identifier: string) => personWith(tenantId, identifier, password),
    people: async () => {
      const { users } = await api.users.list({ tenantId }, call());
      return users.map(({ username, userId }) => `${username} ${userId.replace(/^usr_.*/, 'made here')}`);
    },
    create: async (user: object, more: object = {}) =>
      api.users.create({ tenantId, user: { username: 'eve', ...user }, ...more }, call()),
  };
}

/** The code and the lines of a refusal, or its fields. */
async function refusal(work: Promise<unknown>): Promise<readonly string[]> {
  const error: unknown = await work.then(
    () => 'nothing',
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConnectError)) throw new Error('It was not refused.', { cause: error });
  const fields = fieldViolations(error).map(({ field, description }) => `${field}: ${description}`);
  const lines = (fields[0]?.startsWith('document') === true ? fields : [error.rawMessage, ...fields])
    .flatMap((text) => text.split('\n'))
    .map((line) => line.replace(/^.*?tenants\[0\]\.?/, ''));
  return [Code[error.code], ...lines];
}

const mine = (username: string, userId: string, more: object = {}) => ({ username, userId, ...more });
const web = (clientId: string) => ({
  clientId,
  name: 'Web',
  type: 'public',
  grantTypes: ['authorization_code'],
  redirectUris: ['https://web.example/cb'],
});

describe('a person who is given an identifier', () => {
  it('has it as the subject of tokens, and keeps it under another user name and with the password of then', async () => {
    const { apply, people, personWith } = await start();
    const first = mine('ada', 'f:1|ada', { password });
    expect(await apply({ users: [first, { username: 'bob' }] })).toMatchObject({ created: 2 });
    expect(await people()).toEqual(['ada f:1|ada', 'bob made here']);
    const renamed = { ...first, username: 'ada.l' };
    expect(await apply({ users: [renamed] }, { keptKinds })).toMatchObject({ created: 0, updated: 1 });
    expect(await people()).toEqual(['ada.l f:1|ada', 'bob made here']);
    expect(await personWith('ada.l')).toBe('f:1|ada');
    expect(await apply({ users: [renamed] }, { keptKinds })).toMatchObject({ created: 0, updated: 0 });
  });

  it('may swap user names with another one, and somebody new may have the former one', async () => {
    const { apply, people } = await start();
    await apply({ users: [mine('ada', '1'), mine('bob', '2')] });
    await apply({ users: [mine('bob', '1'), mine('ada', '2')] }, { keptKinds });
    expect(await people()).toEqual(['ada 2', 'bob 1']);
    await apply({ users: [mine('carol', '2'), mine('ada', '3')] }, { keptKinds });
    expect(await people()).toEqual(['ada 3', 'bob 1', 'carol 2']);
  });

  it('is written as it is declared, so that the file can be applied elsewhere', async () => {
    const { api, apply, tenantId } = await start();
    await apply({ users: [mine('ada', '1'), { username: 'bob' }] });
    const { document } = await api.declaredState.get({ tenantId, owner: 'moved' }, call());
    expect(document).toMatch(/username: ada\n\s+userId: "1"/);
    expect(document).not.toContain('usr_');
  });

  it('needs a tenant with an issuer of its own, which cannot be given up', async () => {
    const { apply, create } = await start({ isShared: true });
    const needsOwn = 'needs a tenant with an issuer of its own';
    expect(await refusal(apply({ users: [mine('ada', '1')] }))).toEqual([
      'InvalidArgument',
      `users[0].userId: ${needsOwn}`,
    ]);
    expect(await refusal(create({ userId: '1' }))).toContain(`user.userId: ${needsOwn}`);
    const own = await start();
    await own.apply({ users: [mine('ada', '1')] });
    const gone = await refusal(own.apply({ issuer: undefined, users: [{ username: 'ada' }] }));
    expect(gone.join()).toContain('issuer: cannot be given up');
    const update = { tenantId: own.tenantId, updateMask: { paths: ['issuer'] }, takeOver: true };
    const cleared = own.api.tenants.update({ ...update, tenant: { name: 'Harbour' } }, call());
    expect((await refusal(cleared)).join()).toContain('tenant.issuer: cannot be given up');
  });

  it('never gets another one', async () => {
    const { apply, people } = await start();
    await apply({ users: [mine('ada', '1'), { username: 'bob' }] });
    const never = 'userId: is another one than the person has, who keeps it';
    expect(await refusal(apply({ users: [mine('ada', '2'), mine('bob', '3')] }, { keptKinds }))).toEqual([
      'FailedPrecondition',
      `users[0].${never}`,
      `users[1].${never}`,
    ]);
    expect(await people()).toEqual(['ada 1', 'bob made here']);
  });

  it.each([
    [
      'of another person of the file',
      [mine('ada', '1'), mine('bob', '1')],
      'users[1].userId: is declared twice',
    ],
    ['that was made here', [mine('ada', 'usr_ada')], 'users[0].userId: must not begin with usr_'],
    ['that is built in', [mine('ada', 'tessera.cli')], 'users[0].userId: must not begin with tessera.'],
    ['with a space', [mine('ada', 'a b')], 'users[0].userId: must consist of visible ASCII characters'],
    ['of 256 characters', [mine('ada', 'x'.repeat(256))], 'users[0].userId: '],
    ['of an application', [mine('ada', 'web')], 'users[0].userId: is or was the client id of an application'],
  ])('is not given one %s', async (_, users, problem) => {
    const { apply, people, tenantId } = await start();
    const named = users.map((user) =>
      user.userId === 'web' ? { ...user, userId: `${tenantId}-web` } : user,
    );
    const refused = await refusal(apply({ users: named, applications: [web(`${tenantId}-web`)] }));
    expect(refused[0]).toBe('InvalidArgument');
    expect(refused.join()).toContain(problem);
    expect(await people()).toEqual([]);
  });

  it('is not given one of an application that is there, or was, nor an application the one of a person', async () => {
    const { api, apply, create, tenantId } = await start();
    const [there, was] = [`${tenantId}-there`, `${tenantId}-was`];
    await apply({ applications: [web(there), web(was)] });
    await apply({ applications: [web(there)] }, { allowDelete: true });
    const taken = 'is or was the client id of an application of the tenant';
    for (const userId of [there, was]) {
      const refused = await refusal(apply({ users: [mine('ada', userId)] }, { keptKinds }));
      expect(refused).toEqual(['FailedPrecondition', `users[0].userId: ${taken}`]);
      expect(await refusal(create({ userId }))).toContain(`user.userId: ${taken}`);
    }
    const person = `${tenantId}-person`;
    await apply({ users: [mine('ada', person)] }, { keptKinds });
    const ofPerson = 'is or was the `userId` of a person of the tenant';
    const application = { ...web(person), redirectUris: ['https://web.example/cb'] };
    expect(await refusal(api.applications.create({ tenantId, application }, call()))).toContain(
      `application.clientId: ${ofPerson}`,
    );
    expect(await refusal(apply({ applications: [web(person)] }, { keptKinds }))).toContain(
      `applications[0].clientId: ${ofPerson}`,
    );
  });

  it('leaves it to nobody when they are deleted for good, and gets it back when they are brought back', async () => {
    const { api, apply, create, people, tenantId } = await start();
    await apply({ users: [mine('ada', '1'), mine('bob', '2')] });
    const deletes = { keptKinds, allowDelete: true };
    await apply({}, { ...deletes, deletedUsers: ['ada', 'bob'] });
    const was = 'is or was the identifier of another person of the tenant';
    expect(await refusal(apply({ users: [mine('ada', '1')] }, { keptKinds }))).toEqual([
      'FailedPrecondition',
      `users[0].userId: ${was}`,
    ]);
    await api.users.undelete({ tenantId, userId: '1' }, call());
    expect(await apply({ users: [mine('ada', '1')] }, { keptKinds })).toMatchObject({ created: 0 });
    await database.query({
      name: 'test.age_deleted',
      text: `DELETE FROM directory.deleted_record WHERE tenant_id = $1`,
      values: [tenantId],
    });
    expect(await refusal(apply({ users: [mine('eve', '2')] }, { keptKinds }))).toContain(
      `users[0].userId: ${was}`,
    );
    expect(await refusal(create({ userId: '2' }))).toContain(`user.userId: ${was}`);
    expect(await people()).toEqual(['ada 1']);
  });

  it('is made by the administration API, once whoever asks at the same time', async () => {
    const { create, people } = await start();
    const asked = Array.from({ length: 8 }, async (_, index) =>
      create({ username: `eve${index}`, userId: 'one' }).then(
        ({ userId }) => userId,
        (error: unknown) => (error instanceof ConnectError ? Code[error.code] : error),
      ),
    );
    const answers = (await Promise.all(asked)).map(String);
    expect(answers.toSorted((a, b) => a.localeCompare(b))).toEqual([
      ...Array<string>(7).fill('AlreadyExists'),
      'one',
    ]);
    expect(await people()).toHaveLength(1);
  });

  it('or an application gets it, where both are made at the same time', async () => {
    const { api, create, tenantId } = await start();
    for (let round = 0; round < 5; round += 1) {
      const both = `${tenantId}-${round}`;
      const made = await Promise.allSettled([
        create({ username: `eve${round}`, userId: both }),
        api.applications.create({ tenantId, application: web(both) }, call()),
      ]);
      expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    }
  });
});

/** A passkey of ES256 that nobody has (RFC 9053 §7.1.1), for the host of the issuer. */
function madeElsewhere(rpId: string) {
  const { x = '', y = '' } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
    format: 'jwk',
  });
  const coordinate = (text: string) => Buffer.from(text, 'base64url').toString('hex');
  const key = `a5010203262001215820${coordinate(x)}225820${coordinate(y)}`;
  const text = () => randomBytes(16).toString('base64url');
  return {
    credentialId: text(),
    userHandle: text(),
    rpId,
    publicKey: Buffer.from(key, 'hex').toString('base64url'),
  };
}

it('refuses a passkey of another host, which no page of the issuer could use', async () => {
  const { apply, tenantId } = await start();
  const ada = (rpId: string) => ({ users: [{ username: 'ada', passkeys: [madeElsewhere(rpId)] }] });
  expect(await refusal(apply(ada('other.example')))).toContain(
    'users[0].passkeys[0].rpId: must be the host of the issuer of the tenant',
  );
  await apply(ada(`${tenantId}.example`));
});

it('takes the passkey of somebody with no other way in only where that is allowed', async () => {
  const { apply, tenantId } = await start();
  const ada = (passkeys: object[]) => ({ users: [{ username: 'ada', passkeys }] });
  await apply(ada([madeElsewhere(`${tenantId}.example`)]));
  expect((await refusal(apply(ada([])))).join('\n')).toMatch(/^g\d+: user ada$/m);
  await apply(ada([]), { allowDelete: true });
});
