import { Code, ConnectError, create, fieldViolations } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { ApplicationSchema } from '@tessera/proto-gen/admin-applications';
import { ResourceSchema } from '@tessera/proto-gen/admin-resources';
import { TenantSchema } from '@tessera/proto-gen/admin-tenants';
import { UserSchema } from '@tessera/proto-gen/admin-users';
import { beforeAll, describe, expect, it } from 'vitest';
import { applicationFields } from '../applications/fields.ts';
import { resourceFields } from '../resources/fields.ts';
import { tenantFields } from '../tenants/fields.ts';
import { ofFilesAlone, user } from '../users/fields.ts';
import { call, startRecords } from '../testing/start-records.ts';

/** Rows of the feed and of the audit trail, which every change has and a refused one has not. */
async function traces(database: Database, tenantId: string): Promise<string[]> {
  const { rows } = await database.query<{ line: string }>({
    name: 'test.traces',
    text: `SELECT line FROM (
             SELECT recorded_at, 'change ' || kind || ' ' || ended AS line FROM directory.change WHERE tenant_id = $1
             UNION ALL
             SELECT recorded_at, 'audit ' || event FROM directory.audit_event WHERE tenant_id = $1) AS both_of_them
            ORDER BY recorded_at, line`,
    values: [tenantId],
  });
  return rows.map(({ line }) => line);
}

/** The code of an error, and the fields that it names. */
async function refusal(work: Promise<unknown>): Promise<readonly [code: string, ...fields: string[]]> {
  const error = await work.then(
    () => 'nothing',
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConnectError)) throw new Error('It was not refused.', { cause: error });
  return [Code[error.code], ...fieldViolations(error).map(({ field }) => field)];
}

/** What the calls that change one record do, on any engine. */
export function recordsContract(engine: string, open: () => Promise<Database>): void {
  let database: Database;
  let count = 0;
  beforeAll(async () => {
    database = await open();
  });

  /** A directory with a tenant of a file: role clerk, resource with scope read, person ada, application web. */
  async function tenant() {
    const directory = startRecords(database);
    const tenantId = `${engine}${(count += 1)}`;
    const document = `
tenants:
  - id: ${tenantId}
    name: Acme
    roles: [clerk, manager]
    resources: [{ audience: https://api.${tenantId}.example, name: API, scopes: [read] }]
    users: [{ username: ada, email: ada@acme.example }]
    applications:
      - { clientId: ${tenantId}-web, name: Web, type: public, grantTypes: [device_code], scopes: [openid] }
`;
    await directory.files.apply({ document, fileName: 'state.yaml' }, call());
    return { ...directory, tenantId, document, seen: async () => traces(database, tenantId) };
  }

  describe(`people, one by one, on ${engine}`, () => {
    it('are created, read, listed, changed and deleted, each with an audit row and a change', async () => {
      const { api, personWith, tenantId, seen } = await tenant();
      const before = (await seen()).length;
      const password = 'correct horse battery';
      const created = await api.users.create(
        {
          tenantId,
          user: {
            username: 'eve',
            email: 'eve@acme.example',
            roles: ['clerk'],
            attributes: { team: ['one', 'two'] },
            givenName: 'Eve',
            emailVerified: false,
            address: { country: 'SE', locality: 'Lund' },
            password,
          },
        },
        call(),
      );
      expect(created).toMatchObject({
        userId: expect.stringMatching(/^usr_/),
        etag: expect.stringMatching(/./),
        owner: 'api',
        username: 'eve',
        status: 'active',
        roles: ['clerk'],
        attributes: { team: ['one', 'two'] },
        givenName: 'Eve',
        emailVerified: false,
        address: { country: 'SE', locality: 'Lund' },
        password: '',
        passwordHash: '',
      });
      expect(created.createTime).toBeDefined();
      const { userId } = created;
      expect(await api.users.get({ tenantId, userId }, call())).toEqual(created);
      expect(await personWith(tenantId, 'eve', password)).toBe(userId);
      const updated = await api.users.update(
        {
          tenantId,
          user: { userId, etag: created.etag, email: 'e@acme.example', address: { locality: 'Malmö' } },
          updateMask: { paths: ['email', 'address.locality', 'given_name'] },
        },
        call(),
      );
      expect(updated).toMatchObject({
        email: 'e@acme.example',
        address: { country: 'SE', locality: 'Malmö' },
        givenName: '',
        roles: ['clerk'],
      });
      expect(updated.etag).not.toBe(created.etag);
      const { users } = await api.users.list({ tenantId }, call());
      expect(users.map(({ username }) => username)).toEqual(['ada', 'eve']);
      expect(users[1]).toEqual(updated);
      await api.users.delete({ tenantId, userId, etag: updated.etag }, call());
      expect(await refusal(api.users.get({ tenantId, userId }, call()))).toEqual(['NotFound']);
      expect((await seen()).slice(before).toSorted()).toEqual([
        'audit user.created',
        'audit user.deleted',
        'audit user.updated',
        'change user false',
        'change user false',
        'change user true',
      ]);
    });

    it('are changed once by two updates with one etag', async () => {
      const { api, tenantId, seen } = await tenant();
      const { userId, ...created } = await api.users.create({ tenantId, user: { username: 'eve' } }, call());
      let { etag } = created;
      for (let round = 0; round < 20; round += 1) {
        const before = (await seen()).length;
        const updates = ['one', 'two'].map((name) =>
          api.users.update({ tenantId, user: { userId, etag, name: `${name} ${round}` } }, call()),
        );
        const results = await Promise.allSettled(updates);
        const won = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
        expect(won).toHaveLength(1);
        expect(results.find(({ status }) => status === 'rejected')).toMatchObject({
          reason: { code: Code.Aborted },
        });
        expect((await seen()).slice(before)).toHaveLength(2);
        expect(await api.users.get({ tenantId, userId }, call())).toEqual(won[0]);
        etag = won[0]?.etag ?? '';
      }
      expect(await refusal(api.users.delete({ tenantId, userId, etag: 'another' }, call()))).toEqual([
        'Aborted',
      ]);
    });

    it('are created once by a create that is repeated, at the same time or later', async () => {
      const { api, tenantId } = await tenant();
      const request = { tenantId, user: { username: 'eve' }, requestId: 'a-uuid' };
      const answers = await Promise.all(
        Array.from({ length: 5 }, async () => api.users.create(request, call())),
      );
      answers.push(await api.users.create(request, call()));
      expect(new Set(answers.map(({ userId }) => userId)).size).toBe(1);
      const { userId } = await api.users.update(
        { tenantId, user: { userId: answers[0]?.userId ?? '', name: 'Eve' } },
        call(),
      );
      expect(await api.users.create(request, call())).toMatchObject({ userId, name: 'Eve' });
      const other = { ...request, user: { username: 'bob' } };
      // Whatever else it asks for is one kind of mistake, so that the code is the same.
      expect(await refusal(api.users.create(other, call()))).toEqual(['AlreadyExists', 'requestId']);
      await database.query({
        name: 'test.age_request',
        text: `UPDATE directory.create_request SET created_at = created_at - interval '25 hours' WHERE tenant_id = $1`,
        values: [tenantId],
      });
      expect(await api.users.create(other, call())).toMatchObject({ username: 'bob' });
    });

    it('are not what a repeated create answers that asks for anything else', async () => {
      const { api, tenantId } = await tenant();
      const eve = {
        username: 'eve',
        password: 'a passphrase for eve',
        attributes: { team: 'sea', desk: ['1', '2'] },
        address: { country: 'SE', locality: 'Lund' },
      };
      const request = { tenantId, user: eve, requestId: 'a-uuid' };
      const { userId } = await api.users.create(request, call());
      const others = [
        { user: { ...eve, password: 'another passphrase' } },
        { user: { ...eve, email: 'eve@acme.example' } },
        { user: { ...eve, name: 'Eve' } },
        { user: { ...eve, username: 'EVE' } },
        { user: { ...eve, attributes: { team: 'sea', desk: ['2', '1'] } } },
        { user: { ...eve, address: { country: 'SE' } } },
        { user: { ...eve, emailVerified: false } },
        { newPerson: true },
      ];
      for (const other of others)
        expect(
          await refusal(api.users.create({ ...request, ...other }, call())),
          JSON.stringify(other),
        ).toEqual(['AlreadyExists', 'requestId']);
      const inOtherOrder = {
        address: { locality: 'Lund', country: 'SE' },
        attributes: { desk: ['1', '2'], team: 'sea' },
        password: eve.password,
        username: 'eve',
      };
      expect(await api.users.create({ ...request, user: inOtherOrder }, call())).toMatchObject({ userId });
    });

    it('are created by one of several creates with one request identifier and different content', async () => {
      const { api, tenantId } = await tenant();
      const outcomes = await Promise.allSettled(
        ['a', 'b', 'c', 'd', 'e'].map(async (name) =>
          api.users.create({ tenantId, user: { username: 'eve', name }, requestId: 'a-uuid' }, call()),
        ),
      );
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const outcome of outcomes)
        if (outcome.status === 'rejected')
          expect(await refusal(Promise.reject(outcome.reason as Error))).toEqual([
            'AlreadyExists',
            'requestId',
          ]);
    });

    it('are not created by a create that fails, so that its repeat is the first', async () => {
      const { api, tenantId } = await tenant();
      const request = { tenantId, user: { username: 'eve', email: 'ADA@acme.example' }, requestId: 'a-uuid' };
      expect(await refusal(api.users.create(request, call()))).toEqual(['AlreadyExists', 'user.email']);
      const corrected = { ...request, user: { username: 'eve' } };
      expect(await api.users.create(corrected, call())).toMatchObject({ username: 'eve' });
    });

    it('share no identifier, even if they are created at the same time', async () => {
      const { api, tenantId } = await tenant();
      const creates = ['a', 'b', 'c', 'd'].map((username) =>
        api.users.create({ tenantId, user: { username, email: 'one@acme.example' } }, call()),
      );
      const results = await Promise.allSettled(creates);
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const result of results)
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: Code.AlreadyExists });
      expect((await api.users.list({ tenantId }, call())).users).toHaveLength(2);
    });

    it('keep every rule of the declared state; the fields that break one are named', async () => {
      const { api, tenantId, seen } = await tenant();
      const before = await seen();
      const createUser = (user: Parameters<typeof api.users.create>[0]['user']) =>
        refusal(api.users.create({ tenantId, user }, call()));
      expect(await createUser(undefined)).toEqual(['InvalidArgument', 'user']);
      expect(await createUser({ email: 'nobody', phoneNumber: '070' })).toEqual([
        'InvalidArgument',
        'user.username',
        'user.email',
        'user.phoneNumber',
      ]);
      expect(await createUser({ username: 'eve', roles: ['clerk', 'boss'] })).toEqual([
        'InvalidArgument',
        'user.roles[1]',
      ]);
      expect(await createUser({ username: 'eve', password: 'password' })).toEqual([
        'InvalidArgument',
        'user.password',
      ]);
      expect(await createUser({ username: 'eve', attributes: { team: [true] } })).toEqual([
        'InvalidArgument',
        'user.attributes.team',
      ]);
      expect(await createUser({ username: 'eve', attributes: { team: Number.NaN } })).toMatchObject([
        'InvalidArgument',
        expect.stringMatching(/^user/) as string,
      ]);
      expect(
        await refusal(api.users.create({ tenantId: 'nobody', user: { username: 'eve' } }, call())),
      ).toEqual(['NotFound']);
      expect(await seen()).toEqual(before);
    });

    it('have what the server sets ignored in requests, whatever it says', async () => {
      const { api, tenantId } = await tenant();
      const createTime = { $typeName: 'google.protobuf.Timestamp', seconds: 10n ** 15n, nanos: 0 } as const;
      const user = { username: 'eve', userId: 'usr_mine', etag: 'mine', createTime };
      const created = await api.users.create({ tenantId, user }, call());
      expect(created).toMatchObject({ username: 'eve', owner: 'api' });
      expect(created.createTime?.seconds).toBeLessThan(createTime.seconds);
    });

    it('belong to whom the request names, who alone changes them unless they are taken over', async () => {
      const { api, tenantId } = await tenant();
      const eve = { username: 'eve' };
      const created = await api.users.create(
        { tenantId, user: eve, owner: 'desk', requestId: 'one' },
        call(),
      );
      expect(created.owner).toBe('desk');
      const again = { tenantId, user: eve, requestId: 'one' };
      expect(await api.users.create({ ...again, owner: 'desk' }, call())).toMatchObject({ username: 'eve' });
      expect(await refusal(api.users.create({ ...again, owner: 'other' }, call()))).toEqual([
        'AlreadyExists',
        'requestId',
      ]);
      const { userId } = created;
      const named = async (name: string, fields: object) =>
        api.users.update({ tenantId, user: { userId, name }, ...fields }, call());
      for (const owner of ['', 'api', 'other'])
        expect(await refusal(named('Eve', { owner }))).toEqual(['FailedPrecondition']);
      expect(await refusal(api.users.delete({ tenantId, userId, owner: 'other' }, call()))).toEqual([
        'FailedPrecondition',
      ]);
      expect(await named('Eve', { owner: 'desk' })).toMatchObject({ name: 'Eve', owner: 'desk' });
      expect(await named('E', { owner: 'other', takeOver: true })).toMatchObject({
        name: 'E',
        owner: 'other',
      });
      await api.users.delete({ tenantId, userId, owner: 'other' }, call());
    });

    it('are refused if a request says that they belong to somebody whom it does not write as', async () => {
      const { api, tenantId } = await tenant();
      const said = ['InvalidArgument', 'user.owner'];
      const eve = { username: 'eve', owner: 'desk' };
      expect(await refusal(api.users.create({ tenantId, user: eve }, call()))).toEqual(said);
      const { userId } = await api.users.create({ tenantId, user: eve, owner: 'desk' }, call());
      const update = async (owner: string, fields: object = {}) =>
        api.users.update(
          {
            tenantId,
            user: { userId, owner, name: 'Eve' },
            updateMask: { paths: ['name'] },
            owner: 'desk',
            ...fields,
          },
          call(),
        );
      expect(await refusal(update('other'))).toEqual(said);
      expect(await update('desk')).toMatchObject({ owner: 'desk' });
      expect(await update('other', { owner: 'other', takeOver: true })).toMatchObject({ owner: 'other' });
      for (const owner of ['Desk', '*', 'a b'])
        expect(await refusal(api.users.delete({ tenantId, userId, owner }, call()))).toEqual([
          'InvalidArgument',
          'owner',
        ]);
    });

    it('are only checked if that is asked for', async () => {
      const { api, tenantId, seen } = await tenant();
      const { userId } = await api.users.create({ tenantId, user: { username: 'eve' } }, call());
      const before = await seen();
      const validateOnly = true;
      const user = { username: 'bob', password: 'correct horse battery' };
      const checked = await api.users.create({ tenantId, user, requestId: 'x', validateOnly }, call());
      expect(checked).toMatchObject({ username: 'bob', etag: '' });
      expect(
        await api.users.update({ tenantId, user: { userId, name: 'Eve' }, validateOnly }, call()),
      ).toMatchObject({ name: 'Eve' });
      await api.users.delete({ tenantId, userId, validateOnly }, call());
      const taken = { tenantId, user: { userId, email: 'ada@acme.example' }, validateOnly };
      expect(await refusal(api.users.update(taken, call()))).toEqual(['AlreadyExists', 'user.email']);
      expect(await seen()).toEqual(before);
      expect(await api.users.get({ tenantId, userId }, call())).toMatchObject({ name: '' });
    });

    it('of a file are changed by others only if they take them over', async () => {
      const { api, tenantId } = await tenant();
      const [ada] = (await api.users.list({ tenantId, search: 'ADA' }, call())).users;
      const user = { userId: ada?.userId ?? '', name: 'Ada' };
      const refused = api.users.update({ tenantId, user }, call());
      await expect(refused).rejects.toMatchObject({
        code: Code.FailedPrecondition,
        rawMessage: expect.stringContaining('owner "file"'),
      });
      expect(await refusal(api.users.delete({ tenantId, userId: user.userId }, call()))).toEqual([
        'FailedPrecondition',
      ]);
      expect(await api.users.update({ tenantId, user, takeOver: true }, call())).toMatchObject({
        ...user,
        owner: 'api',
      });
      expect(await api.users.update({ tenantId, user: { ...user, name: 'A' } }, call())).toMatchObject({
        name: 'A',
      });
    });

    it('of a file are blocked by everybody who changes people, and unblocked by the file or who takes them over', async () => {
      const { api, tenantId } = await tenant();
      const [ada] = (await api.users.list({ tenantId, search: 'ADA' }, call())).users;
      const set = async (status: string, more: object = {}, paths = ['status'], takeOver = false) =>
        api.users.update(
          { tenantId, user: { userId: ada?.userId ?? '', status, ...more }, updateMask: { paths }, takeOver },
          call(),
        );
      const refused = { code: Code.FailedPrecondition };
      for (const status of ['active', 'disabled', 'locked', 'disabled'])
        expect(await set(status)).toMatchObject({ status, owner: 'file', username: 'ada' });
      await expect(set('active')).rejects.toMatchObject(refused);
      await expect(set('disabled', { name: 'A' }, ['status', 'name'])).rejects.toMatchObject(refused);
      await expect(set('unknown')).rejects.toMatchObject({ code: Code.InvalidArgument });
      expect(await set('active', {}, ['status'], true)).toMatchObject({ status: 'active', owner: 'api' });
    });

    it('are blocked, as applications and tenants are, although the rules refuse other fields of theirs', async () => {
      const { api, tenantId } = await tenant();
      const [ada] = (await api.users.list({ tenantId, search: 'ADA' }, call())).users;
      const userId = ada?.userId ?? '';
      const clientId = `${tenantId}-old`;
      const grantTypes = ['authorization_code'];
      const made = {
        clientId,
        name: 'Old',
        type: 'public',
        grantTypes,
        redirectUris: ['https://old.example/'],
      };
      await api.applications.create({ tenantId, application: made }, call());
      for (const [table, change] of [
        ['user_account', `email = 'no address', phone_number = 'no number'`],
        ['application', `redirect_uris = '{no uri}'`],
        ['tenant', `registration_domains = '{no domain}'`],
      ] as const)
        await database.query({
          name: `test.former_${table}`,
          text: `UPDATE directory.${table} SET ${change} WHERE tenant_id = $1`,
          values: [tenantId],
        });
      const alone = { tenantId, updateMask: { paths: ['status'] } };
      const status = 'disabled';
      expect(await api.users.update({ ...alone, user: { userId, status } }, call())).toMatchObject({
        status,
        email: 'no address',
      });
      expect(
        await api.applications.update({ ...alone, application: { clientId, status } }, call()),
      ).toMatchObject({ status, redirectUris: ['no uri'] });
      expect(await api.tenants.update({ ...alone, tenant: { tenantId, status } }, call())).toMatchObject({
        status,
        registrationDomains: ['no domain'],
      });
      const named = api.users.update({ tenantId, user: { userId, name: 'A' }, takeOver: true }, call());
      await expect(named).rejects.toMatchObject({ code: Code.InvalidArgument });
    });

    it('lose their sessions with a new password or status, and with nothing else', async () => {
      const { api, as, tenantId } = await tenant();
      const user = { username: 'eve', password: 'correct horse battery' };
      const { userId } = await api.users.create({ tenantId, user }, call());
      const validFrom = async () => (await as('token').getUser({ tenantId, userId }, call())).user?.validFrom;
      await api.users.update({ tenantId, user: { userId, name: 'Eve', roles: ['manager'] } }, call());
      expect(await validFrom()).toBe(0n);
      await api.users.update({ tenantId, user: { userId, password: 'another horse battery' } }, call());
      const first = await validFrom();
      expect(first).toBeGreaterThan(0n);
      await api.users.update({ tenantId, user: { userId, status: 'disabled' } }, call());
      expect(await validFrom()).toBeGreaterThan(first ?? 0n);
    });

    it('are changed field by field as the mask says, or as a whole', async () => {
      const { api, tenantId } = await tenant();
      const user = {
        username: 'eve',
        name: 'Eve',
        email: 'eve@acme.example',
        attributes: { a: '1', b: '2' },
      };
      const { userId } = await api.users.create({ tenantId, user }, call());
      const update = async (fields: object, ...paths: string[]) =>
        api.users.update({ tenantId, user: { userId, ...fields }, updateMask: { paths } }, call());
      expect(await update({ attributes: { a: '3', c: '4' } }, 'attributes.a')).toMatchObject({
        attributes: { a: '3', b: '2' },
      });
      expect(await update({ name: 'ignored' }, 'email')).toMatchObject({ name: 'Eve', email: '' });
      expect(await update({ username: 'eve' }, '*')).toMatchObject({
        username: 'eve',
        name: '',
        status: 'active',
      });
      for (const path of ['nothing', 'owner', 'userId', 'address.planet'])
        expect(await refusal(update({}, path))).toEqual(['InvalidArgument', 'updateMask']);
    });

    it('are listed page by page, each once, and found by what their identifiers begin with', async () => {
      const { api, tenantId } = await tenant();
      for (const name of ['bea', 'Ben', 'cleo', 'dan', 'Åsa'])
        await api.users.create(
          { tenantId, user: { username: name, email: `b.${name.toLowerCase()}@acme.example` } },
          call(),
        );
      const pages = async (search: string, pageSize: number) => {
        const found: string[][] = [];
        let pageToken = '';
        do {
          const page = await api.users.list({ tenantId, search, pageSize, pageToken }, call());
          found.push(page.users.map(({ username }) => username));
          pageToken = page.nextPageToken;
        } while (pageToken !== '');
        return found;
      };
      expect(await pages('', 4)).toEqual([
        ['ada', 'bea', 'Ben', 'cleo'].toSorted(byIdentifier),
        ['dan', 'Åsa'].toSorted(byIdentifier),
      ]);
      expect((await pages('B', 2)).flat().toSorted()).toEqual(
        ['Ben', 'bea', 'cleo', 'dan', 'Åsa'].toSorted(),
      );
      expect(await pages('be', 1)).toEqual([['bea'], ['Ben']]);
      expect(await pages('%', 1)).toEqual([[]]);
      const { nextPageToken: pageToken } = await api.users.list({ tenantId, pageSize: 1 }, call());
      const list = (fields: object) => refusal(api.users.list({ tenantId, ...fields }, call()));
      expect(await list({ tenantId: 'nowhere' })).toEqual(['NotFound']);
      expect(await refusal(api.roles.list({ tenantId: 'nowhere' }, call()))).toEqual(['NotFound']);
      expect((await api.users.list({ tenantId, search: 'nobody' }, call())).users).toEqual([]);
      expect(await list({ pageToken, search: 'x' })).toEqual(['InvalidArgument', 'pageToken']);
      expect(await list({ pageToken: 'x' })).toEqual(['InvalidArgument', 'pageToken']);
    });

    it('of one tenant are not found by another', async () => {
      const [one, two] = [await tenant(), await tenant()];
      const { userId } = await one.api.users.create(
        { tenantId: one.tenantId, user: { username: 'eve' } },
        call(),
      );
      const { api, tenantId } = two;
      expect(await refusal(api.users.get({ tenantId, userId }, call()))).toEqual(['NotFound']);
      expect(await refusal(api.users.update({ tenantId, user: { userId, name: 'x' } }, call()))).toEqual([
        'NotFound',
      ]);
      expect(await refusal(api.users.delete({ tenantId, userId, takeOver: true }, call()))).toEqual([
        'NotFound',
      ]);
    });

    it('ignore what requests say of fields that only the server sets', async () => {
      const { api, tenantId } = await tenant();
      const user = create(UserSchema, { username: 'eve', userId: 'usr_mine', etag: 'mine' });
      const created = await api.users.create({ tenantId, user }, call());
      expect(created.etag).not.toBe('mine');
      expect(created.userId).not.toBe('usr_mine');
    });
  });

  describe(`applications, one by one, on ${engine}`, () => {
    /** An application of a tenant, as a request has it. */
    const web = (tenantId: string, fields: object = {}) => ({
      clientId: `${tenantId}-api`,
      name: 'API client',
      type: 'confidential',
      grantTypes: ['client_credentials'],
      scopes: ['read'],
      ...fields,
    });

    it('are created, read, listed, changed and deleted, each with an audit row and a change', async () => {
      const { api, as, tenantId, seen } = await tenant();
      const before = (await seen()).length;
      const application = web(tenantId, {
        lifetimes: { accessToken: 60 },
        ciba: { approval: 'page', delivery: 'poll' },
        claims: { groups: { roles: true, targets: ['idToken'] } },
        pkce: 'optional',
      });
      const created = await api.applications.create({ tenantId, application }, call());
      expect(created).toMatchObject({ ...application, owner: 'api', status: 'active' });
      const { clientId } = created;
      // What it is for is answered where it is read.
      const read = await api.applications.get({ tenantId, clientId }, call());
      expect({ ...read, kind: '' }).toEqual(created);
      const updated = await api.applications.update(
        {
          tenantId,
          application: {
            clientId,
            etag: created.etag,
            lifetimes: { idToken: 30 },
            redirectUris: ['https://a.example/'],
          },
          updateMask: { paths: ['lifetimes.id_token', 'redirect_uris'] },
        },
        call(),
      );
      expect(updated).toMatchObject({
        ...application,
        lifetimes: { accessToken: 60, idToken: 30 },
        redirectUris: ['https://a.example/'],
      });
      const found = await as('token').getApplication({ clientId }, call());
      expect(found.application).toMatchObject({ lifetimes: { idToken: 30 }, pkceOptional: true });
      const { applications } = await api.applications.list({ tenantId }, call());
      expect(applications).toHaveLength(2);
      expect({ ...applications[0], kind: '' }).toEqual(updated);
      const search = async (text: string) =>
        (await api.applications.list({ tenantId, search: text }, call())).applications.map(
          ({ name }) => name,
        );
      expect(await search('pi CLIENT')).toEqual(['API client']);
      expect(await search('-WEB')).toEqual(['Web']);
      expect(await search('%')).toEqual([]);
      expect(await search('pi_client')).toEqual([]);
      await api.applications.delete({ tenantId, clientId, etag: updated.etag }, call());
      expect(await refusal(api.applications.get({ tenantId, clientId }, call()))).toEqual(['NotFound']);
      expect((await seen()).slice(before).toSorted()).toEqual([
        'audit client.created',
        'audit client.deleted',
        'audit client.redirect_uris.changed',
        'audit client.updated',
        'change application false',
        'change application false',
        'change application true',
      ]);
    });

    it('get secrets, of which two serve a rotation', async () => {
      const { api, as, tenantId, seen } = await tenant();
      const { clientId } = await api.applications.create({ tenantId, application: web(tenantId) }, call());
      const before = (await seen()).length;
      const verify = async (clientSecret: string) =>
        (await as('token').verifyApplicationSecret({ clientId, clientSecret }, call())).verified;
      const first = await api.applications.createSecret({ tenantId, clientId, requestId: 'first' }, call());
      expect(await verify(first.value)).toBe(true);
      const again = await api.applications.createSecret({ tenantId, clientId, requestId: 'first' }, call());
      expect(again).toMatchObject({ secretId: first.secretId, value: '' });
      const checked = await api.applications.createSecret({ tenantId, clientId, validateOnly: true }, call());
      expect(checked).toMatchObject({ secretId: '', value: '' });
      const value = 'a-value-of-at-least-32-characters';
      const expireTime = { seconds: 4_000_000_000n, nanos: 0 };
      const { etag } = first;
      const second = await api.applications.createSecret(
        { tenantId, clientId, value, expireTime, etag, requestId: 'second' },
        call(),
      );
      expect(second.value).toBe(value);
      // At the version that the first one made, as the administration API sends it.
      const repeated = { tenantId, clientId, value, expireTime, etag: second.etag, requestId: 'second' };
      expect(await api.applications.createSecret(repeated, call())).toMatchObject({
        secretId: second.secretId,
      });
      for (const other of [
        { value: 'another-value-of-32-characters-and-more' },
        { value: '' },
        { expireTime: { seconds: 4_000_000_001n, nanos: 0 } },
      ])
        expect(await refusal(api.applications.createSecret({ ...repeated, ...other }, call()))).toEqual([
          'AlreadyExists',
          'requestId',
        ]);
      const add = (fields: object) =>
        refusal(api.applications.createSecret({ tenantId, clientId, ...fields }, call()));
      expect(await add({})).toEqual(['FailedPrecondition']);
      expect(await add({ value: 'short' })).toEqual(['InvalidArgument', 'value']);
      for (const seconds of [10n ** 15n, -(10n ** 15n), 10n ** 11n * 3n])
        expect(await add({ expireTime: { seconds, nanos: 0 } })).toEqual(['InvalidArgument', 'expireTime']);
      const { secrets } = await api.applications.listSecrets({ tenantId, clientId }, call());
      expect(secrets.map(({ secretId, expireTime }) => [secretId, expireTime?.seconds ?? 0n])).toEqual([
        [first.secretId, 0n],
        [second.secretId, 4_000_000_000n],
      ]);
      const { secretId } = first;
      await api.applications.deleteSecret({ tenantId, clientId, secretId, etag: second.etag }, call());
      expect([await verify(first.value), await verify(value)]).toEqual([false, true]);
      expect(await refusal(api.applications.deleteSecret({ tenantId, clientId, secretId }, call()))).toEqual([
        'NotFound',
      ]);
      expect((await seen()).slice(before)).toEqual([
        expect.stringContaining('audit'),
        'change application false',
        'audit client.secret.rotation_started',
        'change application false',
        'audit client.secret.rotation_completed',
        'change application false',
      ]);
      const spa = `${tenantId}-web`;
      expect(
        await refusal(api.applications.createSecret({ tenantId, clientId: spa, takeOver: true }, call())),
      ).toEqual(['FailedPrecondition']);
    });

    it('get one secret from two creates of the last one at the same time', async () => {
      const { api, tenantId } = await tenant();
      const { clientId } = await api.applications.create({ tenantId, application: web(tenantId) }, call());
      await api.applications.createSecret({ tenantId, clientId }, call());
      const creates = ['one', 'two'].map(async () =>
        api.applications.createSecret({ tenantId, clientId }, call()),
      );
      const results = await Promise.allSettled(creates);
      expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      expect((await api.applications.listSecrets({ tenantId, clientId }, call())).secrets).toHaveLength(2);
    });

    it('keep every rule of the declared state; the fields that break one are named', async () => {
      const { api, tenantId, seen } = await tenant();
      const other = await tenant();
      const before = await seen();
      const createApplication = (fields: object) =>
        refusal(api.applications.create({ tenantId, application: web(tenantId, fields) }, call()));
      expect(await createApplication({ name: '', scopes: ['nothing'], allowedRoles: ['boss'] })).toEqual([
        'InvalidArgument',
        'application.name',
      ]);
      expect(await createApplication({ scopes: ['nothing'], allowedRoles: ['boss'] })).toEqual([
        'InvalidArgument',
        'application.scopes[0]',
        'application.allowedRoles[0]',
      ]);
      expect(await createApplication({ type: 'public' })).toEqual([
        'InvalidArgument',
        'application.grantTypes[0]',
      ]);
      expect(await createApplication({ clientId: `${tenantId}-web` })).toEqual(['AlreadyExists']);
      expect(await createApplication({ clientId: `${other.tenantId}-web` })).toEqual(['AlreadyExists']);
      expect(await seen()).toEqual(before);
      const clientId = `${other.tenantId}-web`;
      expect(await refusal(api.applications.get({ tenantId, clientId }, call()))).toEqual(['NotFound']);
      expect(await refusal(api.applications.delete({ tenantId, clientId, takeOver: true }, call()))).toEqual([
        'NotFound',
      ]);
    });

    it('with secrets cannot become public', async () => {
      const { api, tenantId } = await tenant();
      const application = web(tenantId, { grantTypes: ['device_code'] });
      const { clientId } = await api.applications.create({ tenantId, application }, call());
      await api.applications.createSecret({ tenantId, clientId }, call());
      const toPublic = { tenantId, application: { clientId, type: 'public' } };
      expect(await refusal(api.applications.update(toPublic, call()))).toEqual([
        'InvalidArgument',
        'application.type',
      ]);
    });

    it('keep the roles that tokens of applications and resources may name', async () => {
      const { api, tenantId } = await tenant();
      await api.roles.create({ tenantId, role: { name: 'teller' } }, call());
      const audience = `https://till.${tenantId}.example`;
      const till = { audience, name: 'Till', scopes: [{ name: 'till.open' }], roles: ['teller'] };
      const resource = await api.resources.create({ tenantId, resource: till }, call());
      expect(resource.roles).toEqual(['teller']);
      const desk = web(tenantId, {
        clientId: `${tenantId}-till`,
        redirectUris: ['http://127.0.0.1/cb'],
        loopbackPorts: 'any',
        roles: ['teller'],
      });
      const { clientId, etag, ...application } = await api.applications.create(
        { tenantId, application: desk },
        call(),
      );
      expect(application).toMatchObject({ loopbackPorts: 'any', roles: ['teller'] });
      const deletes = () => refusal(api.roles.delete({ tenantId, name: 'teller' }, call()));
      expect(await deletes()).toEqual(['FailedPrecondition']);
      const without = { paths: ['roles', 'loopback_ports'] };
      const changed = await api.applications.update(
        { tenantId, application: { clientId, etag }, updateMask: without },
        call(),
      );
      expect(changed).toMatchObject({ loopbackPorts: 'exact', roles: [] });
      expect(await deletes()).toEqual(['FailedPrecondition']);
      expect(
        await refusal(
          api.resources.update({ tenantId, resource: { audience, roles: ['stranger'] } }, call()),
        ),
      ).toEqual(['InvalidArgument', 'resource.roles[0]']);
      const unrestricted = { tenantId, resource: { audience }, updateMask: { paths: ['roles'] } };
      expect((await api.resources.update(unrestricted, call())).roles).toEqual([]);
      await api.roles.delete({ tenantId, name: 'teller' }, call());
    });

    it('of one client ID are created in one tenant, even at the same time', async () => {
      const tenants = [await tenant(), await tenant(), await tenant()];
      const clientId = `${engine}-one-for-all-${count}`;
      const creates = tenants.map(({ api, tenantId }) =>
        api.applications.create({ tenantId, application: web(tenantId, { clientId }) }, call()),
      );
      const results = await Promise.allSettled(creates);
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const result of results)
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: Code.AlreadyExists });
    });
  });

  describe(`resources and roles, one by one, on ${engine}`, () => {
    it('are created, read, listed, changed and deleted, each with an audit row and a change', async () => {
      const { api, tenantId, seen } = await tenant();
      const before = (await seen()).length;
      const audience = `https://orders.${tenantId}.example`;
      const resource = {
        audience,
        name: 'Orders',
        scopes: [{ name: 'orders.read', description: 'See' }, { name: 'orders.write' }],
        tokenType: 'JWT',
      };
      const created = await api.resources.create({ tenantId, resource, requestId: 'once' }, call());
      expect(created).toMatchObject({ ...resource, owner: 'api', scopeFormat: 'array', shared: false });
      expect(await api.resources.create({ tenantId, resource, requestId: 'once' }, call())).toEqual(created);
      expect(await api.resources.get({ tenantId, audience }, call())).toEqual(created);
      const updated = await api.resources.update(
        {
          tenantId,
          resource: {
            audience,
            etag: created.etag,
            scopes: [{ name: 'orders.read' }],
            signingAlgorithm: 'ES256',
          },
          updateMask: { paths: ['scopes', 'signing_algorithm'] },
        },
        call(),
      );
      expect(updated).toMatchObject({ name: 'Orders', tokenType: 'JWT', signingAlgorithm: 'ES256' });
      expect(updated.scopes.map(({ name }) => name)).toEqual(['orders.read']);
      const { resources } = await api.resources.list({ tenantId, search: 'orders' }, call());
      expect(resources).toEqual([updated]);
      const stale = { tenantId, audience, etag: created.etag };
      expect(await refusal(api.resources.delete(stale, call()))).toEqual(['Aborted']);
      await api.resources.delete({ ...stale, etag: updated.etag }, call());
      const role = await api.roles.create({ tenantId, role: { name: 'boss' } }, call());
      expect(role).toMatchObject({ name: 'boss', owner: 'api' });
      expect(await api.roles.get({ tenantId, name: 'boss' }, call())).toEqual(role);
      const { roles } = await api.roles.list({ tenantId }, call());
      expect(roles.map(({ name, owner }) => `${name} ${owner}`)).toEqual([
        'boss api',
        'clerk file',
        'manager file',
      ]);
      expect(await refusal(api.roles.create({ tenantId, role: { name: 'boss' } }, call()))).toEqual([
        'AlreadyExists',
      ]);
      await api.roles.delete({ tenantId, name: 'boss', etag: role.etag }, call());
      const added = (await seen()).slice(before);
      expect(added.filter((line) => line === 'audit config.changed')).toHaveLength(5);
      expect(added.filter((line) => line === 'change tenant false')).toHaveLength(5);
    });

    it('keep every rule of the declared state; the fields that break one are named', async () => {
      const [{ api, tenantId, seen }, other] = [await tenant(), await tenant()];
      const before = await seen();
      const createResource = (fields: object) =>
        refusal(
          api.resources.create(
            { tenantId, resource: { audience: 'https://x.example', name: 'X', ...fields } },
            call(),
          ),
        );
      expect(await createResource({ audience: '#' })).toEqual(['InvalidArgument', 'resource.audience']);
      expect(await createResource({ scopes: [{ name: 'read' }] })).toEqual([
        'InvalidArgument',
        'resource.scopes[0]',
      ]);
      expect(await createResource({ scopes: [{ name: 'openid' }] })).toEqual([
        'InvalidArgument',
        'resource.scopes[0]',
      ]);
      expect(await createResource({ tokenType: 'other' })).toEqual(['InvalidArgument', 'resource.tokenType']);
      expect(await createResource({ audience: `${tenantId}-web`, tokenType: 'JWT' })).toEqual([
        'InvalidArgument',
        'resource.audience',
      ]);
      expect(await createResource({ audience: `${other.tenantId}-web`, tokenType: 'JWT' })).toEqual([
        'AlreadyExists',
      ]);
      expect(await createResource({ audience: `https://api.${other.tenantId}.example` })).toEqual([
        'AlreadyExists',
      ]);
      expect(await refusal(api.roles.create({ tenantId, role: {} }, call()))).toEqual([
        'InvalidArgument',
        'role.name',
      ]);
      expect(await seen()).toEqual(before);
    });

    it('are searched thousands at once: a page without any may have another one after it', async () => {
      const { api, tenantId } = await tenant();
      await database.query({
        name: 'test.many_roles',
        text: `INSERT INTO directory.role (tenant_id, name) SELECT $1, 'many-' || i FROM generate_series(10001, 22000) AS i`,
        values: [tenantId],
      });
      const pages = async (search: string, pageSize: number) => {
        const found: string[][] = [];
        let pageToken = '';
        do {
          const page = await api.roles.list({ tenantId, search, pageSize, pageToken }, call());
          found.push(page.roles.map(({ name }) => name));
          pageToken = page.nextPageToken;
        } while (pageToken !== '');
        return found;
      };
      const rare = await pages('Y-21999', 10);
      expect(rare).toEqual([[], [], ['many-21999']]);
      const hundreds = Array.from({ length: 120 }, (_, index) => `many-${10_100 + index * 100}`);
      expect((await pages('00', 7)).flat().filter((name) => name.endsWith('00'))).toEqual(hundreds);
      expect((await pages('', 1000)).flat()).toHaveLength(12_002);
      expect((await pages('clerk', 10)).flat()).toEqual(['clerk']);
    });

    it('stay while others refer to them', async () => {
      const { api, tenantId } = await tenant();
      const audience = `https://api.${tenantId}.example`;
      const takeOver = true;
      const application = {
        clientId: `${tenantId}-tv`,
        name: 'TV',
        type: 'public',
        grantTypes: ['device_code'],
      };
      await api.applications.create(
        { tenantId, application: { ...application, scopes: ['read'], allowedRoles: ['manager'] } },
        call(),
      );
      await api.users.create({ tenantId, user: { username: 'eve', roles: ['clerk'] } }, call());
      const refused = ['FailedPrecondition'];
      expect(await refusal(api.resources.delete({ tenantId, audience, takeOver }, call()))).toEqual(refused);
      const fewer = { tenantId, resource: { audience }, updateMask: { paths: ['scopes'] }, takeOver };
      expect(await refusal(api.resources.update(fewer, call()))).toEqual(refused);
      await expect(api.roles.delete({ tenantId, name: 'manager', takeOver }, call())).rejects.toMatchObject({
        code: Code.FailedPrecondition,
        rawMessage: `The role is used by application ${tenantId}-tv.`,
      });
      expect(await refusal(api.roles.delete({ tenantId, name: 'clerk', takeOver }, call()))).toEqual(refused);
      expect(await refusal(api.roles.delete({ tenantId, name: 'clerk' }, call()))).toEqual(refused);
    });

    it('are not given to a record while they are deleted', async () => {
      const { api, tenantId } = await tenant();
      for (let round = 0; round < 10; round += 1) {
        await api.roles.create({ tenantId, role: { name: 'boss' } }, call());
        const user = { username: `eve${round}`, roles: ['boss'] };
        const application = {
          clientId: `${tenantId}-tv${round}`,
          name: 'TV',
          type: 'public',
          grantTypes: ['device_code'],
          allowedRoles: ['boss'],
        };
        const [deleted, created, registered] = await Promise.allSettled([
          api.roles.delete({ tenantId, name: 'boss' }, call()),
          api.users.create({ tenantId, user }, call()),
          api.applications.create({ tenantId, application }, call()),
        ]);
        const users = [created, registered].filter(({ status }) => status === 'fulfilled');
        expect(deleted.status).toBe(users.length === 0 ? 'fulfilled' : 'rejected');
        if (created.status === 'fulfilled')
          await api.users.delete({ tenantId, userId: created.value.userId }, call());
        if (registered.status === 'fulfilled')
          await api.applications.delete({ tenantId, clientId: registered.value.clientId }, call());
        if (deleted.status === 'rejected') await api.roles.delete({ tenantId, name: 'boss' }, call());
      }
    });
  });

  describe(`tenants, one by one, on ${engine}`, () => {
    it('are created, read, listed, changed and, if they are empty, deleted', async () => {
      const { api } = startRecords(database);
      const tenantId = `${engine}-new`;
      const created = await api.tenants.create(
        { tenantId, tenant: { name: 'New' }, requestId: 'once' },
        call(),
      );
      expect(created).toMatchObject({ tenantId, name: 'New', status: 'active', owner: 'api', issuer: '' });
      const repeat = { tenantId, tenant: { name: 'New' }, requestId: 'once' };
      expect(await api.tenants.create(repeat, call())).toEqual(created);
      expect(await refusal(api.tenants.create({ ...repeat, requestId: '' }, call()))).toEqual([
        'AlreadyExists',
      ]);
      expect(await api.tenants.get({ tenantId }, call())).toEqual(created);
      const issuer = `https://login.${tenantId}.example`;
      const updated = await api.tenants.update(
        { tenantId, tenant: { etag: created.etag, issuer, status: 'disabled' } },
        call(),
      );
      expect(updated).toMatchObject({ name: 'New', issuer, status: 'disabled' });
      const { tenants } = await api.tenants.list({ search: tenantId.toUpperCase() }, call());
      expect(tenants).toEqual([updated]);
      const { userId } = await api.users.create({ tenantId, user: { username: 'eve' } }, call());
      expect(await refusal(api.tenants.delete({ tenantId }, call()))).toEqual(['FailedPrecondition']);
      await api.users.delete({ tenantId, userId }, call());
      expect(await refusal(api.tenants.delete({ tenantId, etag: created.etag }, call()))).toEqual([
        'Aborted',
      ]);
      await api.tenants.delete({ tenantId }, call());
      expect(await refusal(api.tenants.get({ tenantId }, call()))).toEqual(['NotFound']);
      const seen = await traces(database, tenantId);
      for (const event of ['tenant.created', 'tenant.suspended', 'tenant.deleted'])
        expect(seen.filter((line) => line === `audit ${event}`)).toHaveLength(1);
      expect(seen.at(-1)).toBe('change tenant true');
    });

    it('made again under an identifier get back nothing that was issued before', async () => {
      const { api, as } = startRecords(database);
      const tenantId = `${engine}-again`;
      await api.tenants.create({ tenantId, tenant: { name: 'New' } }, call());
      await api.tenants.delete({ tenantId }, call());
      await api.tenants.create({ tenantId, tenant: { name: 'New' } }, call());
      const { userId } = await api.users.create({ tenantId, user: { username: 'eve' } }, call());
      expect((await as('token').getUser({ tenantId, userId }, call())).user?.validFrom).toBeGreaterThan(0n);
    });

    it('keep every rule of the declared state; the fields that break one are named', async () => {
      const { api } = startRecords(database);
      const { tenantId: other } = await tenant();
      const createTenant = (tenantId: string, fields: object) =>
        refusal(api.tenants.create({ tenantId, tenant: { name: 'New', ...fields } }, call()));
      expect(await createTenant('A B', { name: '' })).toEqual([
        'InvalidArgument',
        'tenant.tenantId',
        'tenant.name',
      ]);
      expect(await createTenant(`${engine}-bad`, { issuer: 'nowhere' })).toEqual([
        'InvalidArgument',
        'tenant.issuer',
      ]);
      const issuer = `https://${engine}.example`;
      await api.tenants.update({ tenantId: other, tenant: { issuer }, takeOver: true }, call());
      expect(await createTenant(`${engine}-bad`, { issuer })).toEqual(['AlreadyExists']);
    });

    it('of an own issuer return to the shared one only with audiences that no tenant there has', async () => {
      const [one, two] = [await tenant(), await tenant()];
      const { api } = one;
      const audience = `https://api.${two.tenantId}.example`;
      const move = (issuer: string) =>
        api.tenants.update(
          { tenantId: one.tenantId, tenant: { issuer }, updateMask: { paths: ['issuer'] }, takeOver: true },
          call(),
        );
      await move(`https://${one.tenantId}.example`);
      const resource = { audience, name: 'Same' };
      await api.resources.create({ tenantId: one.tenantId, resource }, call());
      expect(await refusal(move(''))).toEqual(['AlreadyExists']);
      await api.resources.delete({ tenantId: one.tenantId, audience }, call());
      expect(await move('')).toMatchObject({ issuer: '' });
    });
  });

  describe(`records on ${engine}`, () => {
    it('are not created by a request with the identifier of another create, of whatever kind', async () => {
      const { api, tenantId } = await tenant();
      const [one, other] = [`${tenantId}-one`, `${tenantId}-other`];
      const resource = (audience: string) => ({ audience, name: 'Orders' });
      const application = (clientId: string) => ({
        clientId,
        name: 'Batch',
        type: 'confidential',
        grantTypes: ['client_credentials'],
      });
      const creates = {
        role: async (name: string, requestId: string) =>
          api.roles.create({ tenantId, role: { name }, requestId }, call()),
        resource: async (id: string, requestId: string) =>
          api.resources.create({ tenantId, resource: resource(`https://${id}`), requestId }, call()),
        application: async (id: string, requestId: string) =>
          api.applications.create({ tenantId, application: application(id), requestId }, call()),
      };
      for (const [kind, make] of Object.entries(creates)) {
        const made = await make(one, kind);
        expect(await make(one, kind)).toEqual(made);
        for (const again of Object.values(creates))
          expect(await refusal(again(other, kind))).toEqual(['AlreadyExists', 'requestId']);
        await make(other, `another ${kind}`.replace(' ', '-'));
      }
    });

    it('are messages with all of their fields', () => {
      const server = ['etag', 'owner', 'createTime', 'updateTime', 'impact'];
      const namesOf = (schema: { readonly fields: readonly { readonly jsonName: string }[] }) =>
        schema.fields.map(({ jsonName }) => jsonName).toSorted();
      expect(namesOf(UserSchema)).toEqual(
        [
          ...Object.keys(user.shape).filter((key) => !ofFilesAlone.has(key)),
          'deleteTime',
          'lockExpireTime',
          'lastSignInTime',
          ...server,
        ].toSorted(),
      );
      expect(namesOf(ResourceSchema)).toEqual(
        [...Object.keys(resourceFields), 'etag', 'owner', 'impact'].toSorted(),
      );
      expect(namesOf(TenantSchema)).toEqual([...Object.keys(tenantFields), 'tenantId', ...server].toSorted());
      expect(namesOf(ApplicationSchema)).toEqual(
        [...Object.keys(applicationFields), 'deleteTime', 'kind', 'lastUseTime', ...server].toSorted(),
      );
    });
  });
}

/** Identifiers stand in the order of their bytes. */
function byIdentifier(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left.toLowerCase()), Buffer.from(right.toLowerCase()));
}
