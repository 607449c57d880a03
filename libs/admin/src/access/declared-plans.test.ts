import { adminRoles, adminScopes } from '@tessera/oauth';
import { ApplicationSchema } from '@tessera/proto-gen/admin-applications';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { RoleSchema } from '@tessera/proto-gen/admin-roles';
import { TenantSchema } from '@tessera/proto-gen/admin-tenants';
import { UserSchema } from '@tessera/proto-gen/admin-users';
import {
  DescribePlanResponseSchema,
  type DescribePlanResponse,
  type PlannedRecord,
} from '@tessera/proto-gen/plan';
import { Code, ConnectError, create, type DescMethod, type Principal } from '@tessera/rpc';
import { describe, expect, it } from 'vitest';
import { carrying } from './who-may-give.ts';

type Fields = Readonly<Record<string, unknown>>;
type Kind = NonNullable<PlannedRecord['record']['case']>;

const { apply, diff, get } = DeclaredStateService.method;
const all = [...adminScopes.keys()];
const holding = (scopes: readonly string[], everyTenant = false): Principal => ({
  kind: 'client',
  id: 'robot',
  tenantId: 'acme',
  everyTenant,
  scopes,
  owners: ['*'],
});
/** As an application with these scopes and `owners`. */
const bound = (
  owners: readonly string[],
  scopes: readonly string[] = [...adminScopes.keys()],
): Principal => ({
  ...holding(scopes),
  owners,
});
const refused = { code: Code.PermissionDenied };

/** A part of a plan. Records stand by their kinds. */
function part(plan: {
  readonly kinds?: string[];
  readonly etag?: string;
  readonly owner?: string;
  readonly powers?: { kind: string; name: string; powers: string[] }[];
  readonly changes?: { name: string; before?: object; after?: object }[];
}): DescribePlanResponse {
  const planned = (record?: object) => {
    const [[kind, value] = []] = Object.entries(record ?? {});
    return record && { record: { case: kind as Kind, value: value as never } };
  };
  const changes = (plan.changes ?? []).map(({ name, before, after }) => ({
    name,
    ...(before && { before: planned(before) as never }),
    ...(after && { after: planned(after) as never }),
  }));
  return create(DescribePlanResponseSchema, { etag: 'v1', owner: 'orders', ...plan, changes });
}

/** Carries out requests with a document that is described like this, and keeps what is asked and sent. */
function carriedOut(
  method: DescMethod,
  parts: readonly DescribePlanResponse[],
  answers: readonly unknown[] = [],
) {
  const sent: Fields[] = [];
  const asked: Fields[] = [];
  const carry = carrying(method, {
    async send(request) {
      const answer = answers[sent.length];
      sent.push(request);
      if (answer instanceof Error) throw answer;
      return (answer ?? {}) as Fields;
    },
    read: undefined,
    attributesInClaims: async () => new Set(['pay']),
    issuerOf: async () => '',
    assignablesOf: async () => (kind, name) => {
      if (kind === 'scope' && name === 'stock.read') return { owner: 'stock', assignableBy: ['orders'] };
      return kind === 'role' && name === 'packer' ? { owner: 'stock', assignableBy: [] } : undefined;
    },
    async *describePlan(request) {
      asked.push(request);
      yield* parts;
    },
  });
  const request = { tenantId: 'acme', document: 'x', owner: 'orders', takeOver: true, fileName: 'f' };
  return {
    sent,
    asked,
    ask: async (who: Principal, fields: Fields = method === apply ? { etag: '' } : {}) =>
      carry({ ...request, ...fields }, who, () => ({})),
  };
}

const person = (fields: Fields) => ({ user: create(UserSchema, { userId: 'usr_1', ...fields }) });
const application = (fields: Fields) => ({
  application: create(ApplicationSchema, { clientId: 'desk', ...fields }),
});
const scopesOf = {
  tenant: ['admin.tenants.write'],
  resource: ['admin.resources.write'],
  role: ['admin.roles.write'],
  user: ['admin.users.write'],
  application: ['admin.applications.write'],
  provider: ['admin.tenants.write', 'admin.users.write'],
};

describe('a document', () => {
  it.each(Object.entries(scopesOf))(
    'that declares a %s needs the scopes of that kind',
    async (kind, scopes) => {
      for (const method of [apply, diff]) {
        const { ask, sent, asked } = carriedOut(method, [part({ kinds: [kind] })]);
        for (const lacking of scopes)
          await expect(ask(holding(all.filter((scope) => scope !== lacking)))).rejects.toMatchObject({
            ...refused,
            rawMessage: `The access token has no scope for kinds of records of this declared state: ${kind} needs ${lacking}.`,
          });
        expect(sent).toEqual([]);
        await ask(holding(scopes));
        expect(sent).toHaveLength(1);
        const described = { tenantId: 'acme', document: 'x', owner: 'orders', takeOver: true, fileName: 'f' };
        expect(asked.at(-1)).toEqual({
          ...described,
          kinds: Object.entries(scopesOf)
            .filter(([, needed]) => needed.every((scope) => scopes.includes(scope)))
            .map(([name]) => name),
        });
      }
    },
  );

  it('is judged as the part that it is, with the people whom it deletes', async () => {
    for (const method of [apply, diff]) {
      const { ask, asked, sent } = carriedOut(method, [part({ kinds: ['user'] })]);
      const fields = { keptKinds: ['user'], deletedUsers: ['ada'] };
      await ask(holding(['admin.users.write']), { ...fields, ...(method === apply && { etag: '' }) });
      expect(asked).toMatchObject([fields]);
      expect(sent).toMatchObject([fields]);
    }
  });

  it.each([
    ['without the other tenants for who reaches one', false, []],
    ['with the other tenants for who reaches every one', true, ['umbra']],
  ])('is compared %s', async (_what, everyTenant, otherTenants) => {
    const { ask, asked, sent } = carriedOut(diff, [part({ kinds: ['user'] })]);
    await ask(holding(['admin.users.write'], everyTenant), { otherTenants: ['umbra'] });
    expect(asked.map((request) => request['otherTenants'])).toEqual([otherTenants]);
    expect(sent.map((request) => request['otherTenants'])).toEqual([otherTenants]);
  });

  it('needs the scopes of what it deletes too, in whichever part that stands', async () => {
    const deletes = part({ etag: '', changes: [{ name: 'ada', before: person({}) }] });
    const { ask, sent } = carriedOut(apply, [part({ kinds: ['application'] }), deletes]);
    await expect(ask(holding(['admin.applications.write']))).rejects.toMatchObject({
      ...refused,
      rawMessage: expect.stringContaining('user needs admin.users.write') as string,
    });
    expect(sent).toEqual([]);
    await ask(holding(['admin.applications.write', 'admin.users.write']));
    expect(sent).toHaveLength(1);
  });

  it.each([
    ['an unknown kind', part({ kinds: ['policy'] })],
    ['a change of nothing', part({ changes: [{ name: 'x' }] })],
    [
      'a change of one kind into another',
      part({ changes: [{ name: 'x', before: person({}), after: application({}) }] }),
    ],
    ['no version', part({ etag: '' })],
  ])('is not applied if its plan has %s', async (_what, plan) => {
    const { ask, sent } = carriedOut(apply, [plan]);
    await expect(ask(holding(all))).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    expect(sent).toEqual([]);
  });

  it('of who holds everything is not described', async () => {
    const { ask, sent, asked } = carriedOut(apply, []);
    await ask(holding(all, true));
    expect([sent.length, asked.length]).toEqual([1, 0]);
  });
});

describe('what a plan gives', () => {
  type Given = readonly [
    what: string,
    change: { before?: object; after?: object },
    needs: readonly string[],
    everyTenant?: true,
  ];
  const gifts: readonly Given[] = [
    [
      'a role to a new person',
      { after: person({ roles: ['clerk'] }) },
      ['admin.users.write', 'admin.roles.write'],
    ],
    [
      'another role to a person',
      { before: person({ roles: ['clerk'] }), after: person({ roles: ['clerk', 'manager'] }) },
      ['admin.users.write', 'admin.roles.write'],
    ],
    [
      'a right to change who administers',
      {
        before: person({ roles: ['tessera.auditor'] }),
        after: person({ roles: ['tessera.auditor'], name: 'A' }),
      },
      ['admin.users.write', ...all.filter((scope) => scope.endsWith('.read'))],
    ],
    [
      'a right to delete what administers',
      { before: application({ scopes: ['admin.keys.write'] }) },
      ['admin.applications.write', 'admin.keys.write'],
    ],
    [
      'an attribute that is a claim',
      { before: person({}), after: person({ attributes: { pay: 'A3' } }) },
      ['admin.users.write', 'admin.applications.write'],
    ],
    [
      'no attribute any more that is a claim',
      { before: person({ attributes: { pay: 'A3' } }), after: person({}) },
      ['admin.users.write', 'admin.applications.write'],
    ],
    [
      'a scope of an API to an application',
      { after: application({ scopes: ['openid', 'orders.read'] }) },
      ['admin.applications.write', 'admin.resources.write'],
    ],
    [
      'a role by a provider',
      { after: { provider: { name: 'corp', roles: ['clerk'] } } },
      ['admin.tenants.write', 'admin.users.write', 'admin.roles.write'],
    ],
    [
      'a claim by a provider',
      { after: { provider: { name: 'corp', attributes: { pay: 'grade' } } } },
      ['admin.tenants.write', 'admin.users.write', 'admin.applications.write'],
    ],
    [
      'another issuer',
      {
        before: { tenant: create(TenantSchema, { issuer: 'https://a.example', status: 'active' }) },
        after: { tenant: create(TenantSchema, { issuer: 'https://b.example', status: 'active' }) },
      },
      all,
      true,
    ],
  ];

  it.each(gifts.map((gift) => [gift[0], gift] as const))(
    'such as %s, is given by those who hold it',
    async (_name, [, change, needs, everyTenant]) => {
      const plan = part({ changes: [{ name: 'it', ...change }] });
      for (const lacking of needs) {
        const { ask, sent } = carriedOut(apply, [plan]);
        const others = all.filter((scope) => scope !== lacking);
        await expect(ask(holding(others, everyTenant))).rejects.toMatchObject(refused);
        expect(sent).toEqual([]);
      }
      if (everyTenant)
        await expect(carriedOut(apply, [plan]).ask(holding(all))).rejects.toMatchObject(refused);
      const { ask, sent } = carriedOut(apply, [plan]);
      await ask(holding(needs, everyTenant));
      expect(sent).toHaveLength(1);
    },
  );

  it.each([
    ['user', ['tessera.helpdesk'], [...(adminRoles.get('tessera.helpdesk') ?? [])]],
    ['application', ['admin.keys.write'], ['admin.keys.write']],
    ['user', ['tessera.unknown'], all],
  ] as const)('is what a %s gets by another way in: %s', async (kind, powers, needs) => {
    const plan = part({ powers: [{ kind, name: 'ada', powers: [...powers] }] });
    for (const lacking of needs)
      await expect(
        carriedOut(diff, [plan]).ask(holding(all.filter((scope) => scope !== lacking))),
      ).rejects.toMatchObject({
        ...refused,
        rawMessage: expect.stringContaining(`${kind} ada: `) as string,
      });
    const { ask, sent } = carriedOut(diff, [plan]);
    await ask(holding(needs));
    expect(sent).toHaveLength(1);
  });

  it('is not what the records have already', async () => {
    const before = person({ roles: ['clerk'], attributes: { pay: 'A3' } });
    const after = person({ roles: ['clerk'], attributes: { pay: 'A3' }, name: 'Ada' });
    const { ask, sent } = carriedOut(apply, [part({ changes: [{ name: 'ada', before, after }] })]);
    await ask(holding(['admin.users.write']));
    expect(sent).toHaveLength(1);
  });
});

describe('who is bound to owners', () => {
  const owned = (owner: string) => application({ owner });

  it.each([
    ['of another one', part({ owner: 'billing' }), 'billing'],
    ['without a change, of another one', part({ owner: 'billing', changes: [] }), 'billing'],
    [
      'that takes a record from another one',
      part({ changes: [{ name: 'desk', before: owned('billing'), after: owned('orders') }] }),
      'billing',
    ],
    [
      'that deletes a record of another one',
      part({ changes: [{ name: 'desk', before: owned('billing') }] }),
      'billing',
    ],
    [
      'that takes a provider from another one',
      part({
        changes: [
          {
            name: 'corp',
            before: { provider: { name: 'corp', owner: 'billing' } },
            after: { provider: { name: 'corp', owner: 'orders' } },
          },
        ],
      }),
      'billing',
    ],
    [
      'that tries a password of somebody of another one',
      part({ changes: [{ name: 'ada', before: person({ owner: 'api' }), after: person({ owner: 'api' }) }] }),
      'api',
    ],
  ])('neither applies nor compares a document %s', async (_what, plan, owner) => {
    for (const method of [apply, diff]) {
      const { ask, sent } = carriedOut(method, [plan]);
      await expect(ask(bound(['orders']))).rejects.toMatchObject({
        ...refused,
        rawMessage: expect.stringContaining(`the owner "${owner}"`) as string,
      });
      expect(sent).toEqual([]);
      await ask(bound(['orders', owner]));
      expect(sent).toHaveLength(1);
    }
  });

  it('changes its own, and what its changes do to others', async () => {
    const judged = {
      name: 'ada',
      before: person({ owner: 'api', emailVerified: true }),
      after: person({ owner: 'api', emailVerified: false }),
    };
    const own = { name: 'desk', before: owned('orders'), after: owned('orders') };
    const { ask, sent } = carriedOut(apply, [part({ changes: [own, judged] })]);
    await ask(bound(['orders']));
    expect(sent).toHaveLength(1);
  });

  it('applies nothing whose owner is not known', async () => {
    const { ask, sent } = carriedOut(apply, [part({ owner: '' })]);
    await expect(ask(bound(['orders']))).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    expect(sent).toEqual([]);
  });

  it('gives scopes that their APIs let its owner assign', async () => {
    const applications = ['admin.applications.write'];
    const reading = (owner: string) =>
      part({ owner, changes: [{ name: 'desk', after: application({ owner, scopes: ['stock.read'] }) }] });
    const given = carriedOut(apply, [reading('orders')]);
    await given.ask(bound(['orders'], applications));
    expect(given.sent).toHaveLength(1);
    await expect(
      carriedOut(apply, [reading('billing')]).ask(bound(['billing'], applications)),
    ).rejects.toMatchObject(refused);
  });

  it.each([
    ['user ada: roles', person({ owner: 'orders', roles: ['packer'] })],
    ['provider corp: roleMappings', { provider: { name: 'corp', owner: 'orders', roles: ['packer'] } }],
  ])('gives no role of another one by a document: %s', async (of, after) => {
    const [, name = ''] = of.split(/[ :]/);
    for (const method of [apply, diff]) {
      const { ask, sent } = carriedOut(method, [part({ changes: [{ name, after }] })]);
      await expect(ask(bound(['orders']))).rejects.toMatchObject({
        ...refused,
        rawMessage: expect.stringContaining(
          `${of}: packer needs an application whose \`owners\` have stock`,
        ) as string,
      });
      expect(sent).toEqual([]);
      await ask(bound(['orders', 'stock']));
      expect(sent).toHaveLength(1);
    }
  });

  it('gives no role of another one to those whom a provider says otherwise', async () => {
    const corp = (claim: string) => ({
      provider: { name: 'corp', owner: 'orders', roles: ['packer'], roleSources: [claim] },
    });
    const change = (after: string) => ({ name: 'corp', before: corp('["groups","a"]'), after: corp(after) });
    const asked = async (after: string) =>
      carriedOut(apply, [part({ changes: [change(after)] })]).ask(bound(['orders']));
    await asked('["groups","a"]');
    await expect(asked('["sub","mallory"]')).rejects.toMatchObject(refused);
  });

  it('gives a role that the same document declares, and what people have already', async () => {
    const role = { role: create(RoleSchema, { name: 'picker', owner: 'orders' }) };
    const had = person({ owner: 'orders', roles: ['packer'] });
    const has = person({ owner: 'orders', roles: ['packer', 'picker'] });
    const plan = part({
      changes: [
        { name: 'picker', after: role },
        { name: 'ada', before: had, after: has },
      ],
    });
    const { ask, sent } = carriedOut(apply, [plan]);
    await ask(bound(['orders']));
    expect(sent).toHaveLength(1);
  });

  it('gives nobody powers by another way in', async () => {
    const plan = part({ powers: [{ kind: 'user', name: 'ada', powers: ['tessera.helpdesk'] }] });
    await expect(carriedOut(apply, [plan]).ask(bound(['orders']))).rejects.toMatchObject(refused);
  });
});

describe('the operator tenant', () => {
  it('is disabled by a document only by those who hold everything', async () => {
    const tenant = (status: string) => ({ tenant: create(TenantSchema, { tenantId: 'acme', status }) });
    const plan = part({ changes: [{ name: 'acme', before: tenant('active'), after: tenant('disabled') }] });
    const { ask } = carriedOut(apply, [plan]);
    await expect(ask(holding(['admin.tenants.write'], true))).rejects.toMatchObject({
      ...refused,
      rawMessage: expect.stringContaining('Disabling acme would end the administration') as string,
    });
  });
});

describe('the plan that was judged', () => {
  const who = holding(['admin.users.write']);
  const aborted = new ConnectError('changed', Code.Aborted);

  it('is the one that is applied: another one is judged again', async () => {
    const { ask, sent, asked } = carriedOut(apply, [part({})], [aborted, aborted]);
    await ask(who);
    expect(asked).toHaveLength(3);
    expect(sent.map(({ etag }) => etag)).toEqual(['v1', 'v1', 'v1']);
  });

  it('is the one that is compared: the answer of another one is judged again', async () => {
    const { ask, sent } = carriedOut(diff, [part({})], [{ etag: 'v0' }, { etag: 'v1' }]);
    expect(await ask(who)).toEqual({ etag: 'v1' });
    expect(sent).toHaveLength(2);
    expect(sent[0]).not.toHaveProperty('etag');
  });

  it('is that of the request, if it names one', async () => {
    const { ask, sent } = carriedOut(apply, [part({})]);
    await expect(ask(who, { etag: 'v0' })).rejects.toMatchObject({ code: Code.Aborted });
    expect(sent).toEqual([]);
    await ask(who, { etag: 'v1' });
    expect(sent).toHaveLength(1);
  });
});

describe('a document that is asked for', () => {
  it('needs the scopes that read its kinds, all of them if it names none', async () => {
    const reading = ['users', 'applications', 'resources', 'roles', 'tenants'].map(
      (kind) => `admin.${kind}.read`,
    );
    const { ask, sent } = carriedOut(get, []);
    for (const lacking of reading)
      await expect(
        ask(holding(all.filter((scope) => scope !== lacking)), { kinds: [] }),
      ).rejects.toMatchObject(refused);
    await expect(ask(holding(['admin.users.read']), { kinds: ['user', 'role'] })).rejects.toMatchObject({
      ...refused,
      rawMessage:
        'The access token has no scope for kinds of records of this declared state: role needs admin.roles.read.',
    });
    expect(sent).toEqual([]);
    await ask(holding(reading), { kinds: [] });
    await ask(holding(['admin.applications.read']), { kinds: ['application'] });
    expect(sent).toHaveLength(2);
  });
});
