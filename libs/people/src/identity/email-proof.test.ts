import { migrations } from '@tessera/directory';
import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { mailWorld } from '../testing/mail-world.ts';
import { call } from '../testing/start-directory.ts';
import { corp, partner, twoProviders } from '../testing/two-providers.ts';

let database: Database;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

const cfo = 'cfo@company.example';
const companyOwned = [
  { ...corp, domains: ['company.example'] },
  { ...partner, domains: ['partner.example'] },
];

/** As a process of the version before leaves an account when providers change: its address stays verified. */
async function unjudged(userId: string): Promise<void> {
  await database.query({
    name: 'test.unjudged',
    text: `UPDATE directory.user_account SET standard_claims = '{"emailVerified": true}' WHERE user_id = $1`,
    values: [userId],
  });
}

describe('an account that has an address', () => {
  it('does not become that of its owner if another provider brought it, which was unlinked since', async () => {
    const { declare, signIn, leave } = twoProviders(database);
    await declare([partner]);
    const userId = (await signIn(partner, 'evil', cfo)).user?.userId ?? '';
    await leave(userId, 'partner');
    await declare(companyOwned);
    expect(await signIn(corp, 'cfo', cfo)).toMatchObject({ refusal: 'taken' });
    await unjudged(userId);
    expect(await signIn(corp, 'cfo', cfo)).toMatchObject({ refusal: 'unproven' });
  });

  it('does not become that of its owner if another issuer of the same name brought it', async () => {
    const { declare, signIn, leave } = twoProviders(database);
    const before = { ...partner, name: 'sso' };
    const after = { ...corp, name: 'sso', domains: ['company.example'] };
    for (const unlinks of [false, true]) {
      const email = `${unlinks ? 'former' : 'present'}-${cfo}`;
      await declare([before]);
      const userId = (await signIn(before, email, email)).user?.userId ?? '';
      if (unlinks) await leave(userId, 'sso');
      await declare([after]);
      await unjudged(userId);
      expect(await signIn(after, `real ${email}`, email)).toMatchObject({
        refusal: unlinks ? 'unproven' : 'taken',
      });
    }
  });

  it('is signed in to again with the provider that brought it', async () => {
    const { declare, signIn, leave } = twoProviders(database);
    await declare(companyOwned);
    const userId = (await signIn(corp, 'cfo', cfo)).user?.userId ?? '';
    await leave(userId, 'corp');
    expect((await signIn(corp, 'cfo', cfo)).user?.userId).toBe(userId);
  });

  it('is linked to nobody because an administrator or a file says that the address is verified', async () => {
    const { declare, signIn, api, tenantId } = twoProviders(database);
    const declared = { username: 'declared', email: `declared-${cfo}`, emailVerified: true };
    await declare(companyOwned, [declared]);
    const user = { username: 'made', email: `made-${cfo}`, emailVerified: true };
    await api.users.create({ tenantId, user }, call());
    for (const { email } of [declared, user])
      expect(await signIn(corp, email, email)).toMatchObject({ refusal: 'unproven' });
  });

  it('forgets who proved its address when somebody else changes it, or says anew whether it is verified', async () => {
    const { declare, signIn, leave, update } = twoProviders(database);
    await declare(companyOwned);
    const made = async (email: string) => {
      const userId = (await signIn(corp, email, email)).user?.userId ?? '';
      await leave(userId, 'corp');
      return { userId, email };
    };
    const moved = await made(`moved-${cfo}`);
    await update({ userId: moved.userId, email: 'elsewhere@home.example', emailVerified: true });
    await update({ userId: moved.userId, email: moved.email, emailVerified: true });
    const said = await made(`said-${cfo}`);
    await update({ userId: said.userId, emailVerified: false });
    await update({ userId: said.userId, emailVerified: true });
    const renamed = await made(`renamed-${cfo}`);
    await update({ userId: renamed.userId, email: renamed.email, emailVerified: true, name: 'Carla' });
    for (const [{ email }, refusal] of [
      [moved, 'unproven'],
      [said, 'unproven'],
      [renamed, ''],
    ] as const)
      expect(await signIn(corp, `again ${email}`, email)).toMatchObject({ refusal });
  });

  it('forgets who proved its address when a process of the version before changes it', async () => {
    const { declare, signIn, leave, record, tenantId } = twoProviders(database);
    await declare([partner]);
    const userId = (await signIn(partner, 'evil', 'evil@partner.example')).user?.userId ?? '';
    await leave(userId, 'partner');
    const change = async (name: string, text: string) =>
      database.query({ name: `test.${name}`, text, values: [tenantId, userId, cfo] });
    await change(
      'former_account',
      'UPDATE directory.user_account SET email = $3 WHERE tenant_id = $1 AND user_id = $2',
    );
    await change(
      'former_identifier',
      'UPDATE directory.user_identifier SET identifier = $3 WHERE tenant_id = $1 AND user_id = $2',
    );
    expect(await signIn(partner, 'evil too', cfo)).toMatchObject({ refusal: 'unproven' });
    // What it proved says nothing of the other address when it may no longer say it.
    await declare([{ ...corp, domains: ['partner.example'] }]);
    expect(await record(userId)).toMatchObject({ email: cfo, emailVerified: true });
  });

  it('has it verified by a provider for as long as that may say so, and loses no address', async () => {
    const { declare, signIn, record, authorize, tenantId, update } = twoProviders(database);
    const told = async (userId: string) => {
      const { user } = await authorize.getUser({ tenantId, userId }, call());
      const { email, emailVerified } = await record(userId);
      expect(user?.standardClaims?.['email_verified']).toBe(emailVerified);
      return [email, emailVerified];
    };
    await declare([partner]);
    const made = async (subject: string, email: string) =>
      (await signIn(partner, subject, email)).user?.userId ?? '';
    const brought = await made('evil', cfo);
    const below = await made('below', 'eve@eu.company.example');
    const own = await made('own', 'eve@partner.example');
    const said = await made('said', `said-${cfo}`);
    expect(await told(brought)).toEqual([cfo, true]);
    await declare(companyOwned);
    expect(await told(brought)).toEqual([cfo, undefined]);
    expect(await told(below)).toEqual(['eve@eu.company.example', undefined]);
    expect(await told(own)).toEqual(['eve@partner.example', true]);
    expect(await signIn(corp, 'cfo', cfo)).toMatchObject({ refusal: 'taken' });
    await update({ userId: said, emailVerified: true });
    await declare([{ ...corp, domains: ['company.example'] }, partner]);
    expect(await told(said), 'an administrator says so').toEqual([`said-${cfo}`, true]);
    expect(await told(brought)).toEqual([cfo, undefined]);
    await declare([corp]);
    expect(await told(brought), 'nobody else has the domain').toEqual([cfo, true]);
    await declare([{ ...corp, domains: ['company.example'] }]);
    expect(await told(brought)).toEqual([cfo, undefined]);
    expect(await told(own)).toEqual(['eve@partner.example', true]);
    await declare([partner]);
    expect(await told(brought)).toEqual([cfo, true]);
  });

  it.each([
    ['CFÖ@company.example', undefined],
    ['cfo\u0308@company.example', undefined],
    ['ΟΔΟΣ@company.example', undefined],
    ['cfo@xn--cmpany-wxa.example', 'cfo@cömpany.example'],
  ])('has it verified in each spelling as long as its provider may say so: %j', async (email, other) => {
    const { declare, signIn, record, update } = twoProviders(database);
    const owned = ['company.example', 'xn--cmpany-wxa.example'];
    await declare([partner]);
    const userId = (await signIn(partner, 'evil', email)).user?.userId ?? '';
    if (other !== undefined) await update({ userId, email: other });
    expect(await record(userId)).toMatchObject({ email: other ?? email, emailVerified: true });
    await declare([{ ...corp, domains: owned }, partner]);
    expect((await record(userId)).emailVerified).toBeUndefined();
    await declare([partner]);
    expect(await record(userId)).toMatchObject({ email: other ?? email, emailVerified: true });
  });

  it('has it verified for no longer than the provider may say so if it is deleted and restored meanwhile', async () => {
    const { declare, signIn, record, api, tenantId } = twoProviders(database);
    await declare([partner]);
    const userId = (await signIn(partner, 'evil', cfo)).user?.userId ?? '';
    await api.users.delete({ tenantId, userId }, call());
    await declare(companyOwned);
    await api.users.undelete({ tenantId, userId }, call());
    expect(await record(userId)).toMatchObject({ email: cfo });
    expect((await record(userId)).emailVerified).toBeUndefined();
    await declare([partner]);
    expect(await record(userId)).toMatchObject({ email: cfo, emailVerified: true });
  });

  it('stays verified as a file declares it, whatever the provider that brought it may say', async () => {
    const { declare, record, signIn } = twoProviders(database);
    await declare([partner]);
    const userId = (await signIn(partner, 'evil', cfo)).user?.userId ?? '';
    const declared = [{ username: cfo, email: cfo, emailVerified: true }];
    for (let times = 0; times < 2; times += 1) {
      await declare(companyOwned, declared);
      expect(await record(userId)).toMatchObject({ email: cfo, emailVerified: true });
    }
    expect(await signIn(corp, 'cfo', cfo)).toMatchObject({ refusal: 'taken' });
  });

  it('becomes that of its owner if the address was proven by a link that was mailed there', async () => {
    const { tenantId, as, files, smtp, redeem } = await mailWorld(database, {
      tenant: { registration: 'open' },
    });
    const ipAddress = '10.0.0.1';
    const document = JSON.stringify({
      owner: 'providers',
      tenants: [{ id: tenantId, providers: companyOwned }],
    });
    await files.apply({ document, fileName: 'state.yaml' }, call());
    await as('gateway').requestRegistration({ tenantId, email: cfo, language: 'en', ipAddress }, call());
    const [mail] = await smtp.gotAll(1);
    await redeem(mail?.link ?? '', 'the passphrase of the officer');
    const proof = { tenantId, provider: 'corp', issuer: corp.issuer, subject: 'cfo', ipAddress };
    const signedIn = await as('authorize').signInWithProvider(
      { ...proof, email: cfo, emailVerified: true },
      call(),
    );
    expect(signedIn).toMatchObject({ refusal: '', user: { username: cfo, email: cfo } });
  });
});
