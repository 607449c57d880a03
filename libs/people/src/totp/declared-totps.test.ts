import { migrations } from '@tessera/directory';
import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { Secret, TOTP } from 'otpauth';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, startDirectory } from '../testing/start-directory.ts';

let database: Database;
let count = 0;

beforeAll(async () => {
  database = await testDatabase(migrations);
});

const secret = 'KRSXG5DPEHPK3PXPKRSXG5DP';
const appOf = (of: { algorithm?: string; digits?: number; period?: number; secret?: string } = {}) =>
  new TOTP({
    algorithm: 'SHA1',
    digits: 6,
    period: 30,
    ...of,
    secret: Secret.fromBase32(of.secret ?? secret),
  });
const unusual = { algorithm: 'SHA256', digits: 8, period: 60 } as const;

/** A person of a file who has an app from elsewhere. */
async function world() {
  const { files, api, as } = startDirectory(database);
  const authorize = as('authorize');
  const tenantId = `d${(count += 1)}`;
  const apply = async (user: object) => {
    const users = [{ username: 'ada', password: 'a long password', ...user }];
    const document = JSON.stringify({ tenants: [{ id: tenantId, name: 'Harbour', users }] });
    const { tenants } = await files.apply({ document, fileName: 'state.yaml' }, call());
    return `${tenants[0]?.created} ${tenants[0]?.updated}`;
  };
  const person = async () => {
    const { users } = await api.users.list({ tenantId }, call());
    return { tenantId, userId: users[0]?.userId ?? '' };
  };
  return {
    api,
    authorize,
    apply,
    person,
    factors: async () => (await authorize.getUser(await person(), call())).user?.secondFactors,
    verify: async (code: string) =>
      (await authorize.verifySecondFactor({ ...(await person()), code }, call())).user?.username,
    events: async () => {
      const { rows } = await database.query<{ line: string }>({
        name: 'test.user_events',
        text: `SELECT record::text AS line FROM directory.audit_event WHERE tenant_id = $1 ORDER BY event_id`,
        values: [tenantId],
      });
      return rows.map(({ line }) => line).join('\n');
    },
  };
}

describe('a declared authenticator app', () => {
  it('is asked for at the sign-in, with its own digits, period and algorithm (RFC 6238 §4)', async () => {
    const { apply, factors, verify } = await world();
    expect(await apply({ totp: { secret, ...unusual } })).toBe('2 0');
    expect(await factors()).toEqual(['totp']);
    expect(await verify(appOf().generate())).toBeUndefined();
    expect(await verify(appOf({ ...unusual, digits: 6 }).generate())).toBeUndefined();
    expect(await verify(appOf({ ...unusual, algorithm: 'SHA1' }).generate())).toBeUndefined();
    const code = appOf(unusual).generate();
    expect(code).toHaveLength(8);
    expect(await verify(` ${code.slice(0, 4)} ${code.slice(4)}`)).toBe('ada');
    expect(await verify(code)).toBeUndefined();
  });

  it('takes each code once, of one period before and after (RFC 6238 §5.2)', async () => {
    const { apply, verify } = await world();
    await apply({ totp: { secret, ...unusual } });
    const at = (periods: number) => appOf(unusual).generate({ timestamp: Date.now() + periods * 60_000 });
    expect(await verify(at(-2))).toBeUndefined();
    expect(await verify(at(2))).toBeUndefined();
    expect(await verify(at(1))).toBe('ada');
    expect(await verify(at(0))).toBeUndefined();
  });

  it('is stored encrypted, and nothing tells it', async () => {
    const { apply, api, events, person } = await world();
    await apply({});
    await apply({ totp: { secret } });
    const { rows } = await database.query<{ line: string }>({
      name: 'test.stored_app',
      text: 'SELECT t::text || u::text AS line FROM directory.totp t JOIN directory.user_account u USING (tenant_id, user_id) WHERE tenant_id = $1',
      values: [(await person()).tenantId],
    });
    expect(rows).toHaveLength(1);
    const bytes = Buffer.from(Secret.fromBase32(secret).bytes);
    const shown = JSON.stringify(
      [rows, await events(), await api.users.get(await person(), call())],
      (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
    );
    for (const form of [secret, bytes.toString('hex'), bytes.toString('base64url'), bytes.toString('latin1')])
      expect(shown).not.toContain(form);
    expect(await events()).toContain('"changed": "totp"');
  });

  it('changes nothing when it is declared again, and takes the place of an earlier declared one', async () => {
    const { apply, verify } = await world();
    await apply({ totp: { secret } });
    expect(await apply({ totp: { secret: secret.toLowerCase() } })).toBe('0 0');
    const code = appOf().generate();
    expect(await verify(code)).toBe('ada');
    expect(await apply({ totp: { secret } })).toBe('0 0');
    expect(await verify(code)).toBeUndefined();
    const other = 'JBSWY3DPEHPK3PXP';
    expect(await apply({ totp: { secret: other } })).toBe('0 1');
    expect(await verify(appOf({ secret: other }).generate())).toBe('ada');
  });

  it('stays away once it was removed, and never takes the place of one that the person enrolled', async () => {
    const { api, apply, authorize, factors, person, verify } = await world();
    await apply({ totp: { secret } });
    await api.users.resetSecondFactors(await person(), call());
    expect(await factors()).toEqual([]);
    expect(await apply({ totp: { secret } })).toBe('0 0');
    expect(await factors()).toEqual([]);
    const { uri } = await authorize.proposeTotp({ ...(await person()), seed: 's' }, call());
    const own = appOf({ secret: new URL(uri).searchParams.get('secret') ?? '' });
    const proposed = { ...(await person()), seed: 's' };
    const { timeStep } = await authorize.verifyProposedTotp({ ...proposed, code: own.generate() }, call());
    const adopted = await authorize.adoptProposal(
      { ...proposed, ...(timeStep !== undefined && { timeStep }) },
      call(),
    );
    expect(adopted.user?.username).toBe('ada');
    expect(await apply({ totp: { secret: 'JBSWY3DPEHPK3PXP' } })).toBe('0 1');
    expect(await verify(own.generate({ timestamp: Date.now() + 30_000 }))).toBe('ada');
  });

  it('is of the person whom it was declared for, also when they are brought back', async () => {
    const { api, apply, factors, person, verify } = await world();
    await apply({ totp: { secret } });
    const ada = await person();
    await api.users.delete({ ...ada, takeOver: true }, call());
    await api.users.undelete(ada, call());
    expect(await factors()).toEqual(['totp']);
    expect(await verify(appOf().generate())).toBe('ada');
    expect(await apply({ totp: { secret } })).toBe('0 0');
  });

  it.each([
    ['a secret that is no base32', { secret: 'not base32!' }, 'totp.secret: must be base32'],
    ['a short secret', { secret: 'JBSWY3DP' }, 'totp.secret: must have 10 to 128 bytes'],
    ['other digits', { secret, digits: 7 }, 'totp.digits: must be 6 or 8'],
    ['a long period', { secret, period: 600 }, 'totp.period'],
    ['another algorithm', { secret, algorithm: 'MD5' }, 'totp.algorithm'],
  ])('is refused with %s, without the secret', async (_, totp, message) => {
    const { apply } = await world();
    const refused = await apply({ totp }).catch((error: unknown) => String(error));
    expect(refused).toContain(message);
    expect(refused).not.toContain(totp.secret);
  });
});
