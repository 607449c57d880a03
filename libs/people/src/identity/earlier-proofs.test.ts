import { readFile } from 'node:fs/promises';
import { migrations } from '@tessera/directory';
import { testDatabase } from '@tessera/test-kit';
import { expect, it } from 'vitest';
import { mailWorld } from '../testing/mail-world.ts';
import { call } from '../testing/start-directory.ts';
import { partner } from '../testing/two-providers.ts';

it('who proved an address before that was kept is read from the audit trail, and is nobody where that does not say it', async () => {
  const database = await testDatabase(migrations);
  const of = await mailWorld(database, { tenant: { registration: 'open' } });
  const { tenantId, api, as } = of;
  const ipAddress = '10.0.0.1';
  const idOf = async (search: string) =>
    (await api.users.list({ tenantId, search }, call())).users[0]?.userId ?? '';
  const document = JSON.stringify({ owner: 'providers', tenants: [{ id: tenantId, providers: [partner] }] });
  await of.files.apply({ document, fileName: 'state.yaml' }, call());

  let mails = 0;
  const register = async (email: string) => {
    await as('gateway').requestRegistration({ tenantId, email, language: 'en', ipAddress }, call());
    const mail = (await of.smtp.gotAll((mails += 1))).at(-1);
    await of.redeem(mail?.link ?? '', 'a passphrase that somebody chose');
    return idOf(email);
  };
  const bring = async (name: string) => {
    const proof = { tenantId, provider: 'partner', issuer: partner.issuer, subject: name, ipAddress };
    const email = `${name}@partner.example`;
    await as('authorize').signInWithProvider({ ...proof, email, emailVerified: true }, call());
    return idOf(email);
  };
  const registered = await register('registered@people.example');
  const moved = await register('moved@people.example');
  const change = { email: 'cfo@company.example', emailVerified: true };
  await api.users.update({ tenantId, user: { userId: moved, ...change } }, call());
  const brought = await bring('brought');
  const left = await bring('left');
  await api.users.update({ tenantId, user: { userId: left, password: 'a passphrase of their own' } }, call());
  await of.person.unlinkOwnProvider({ tenantId, userId: left, provider: 'partner', ipAddress }, call());
  await of.user({ username: 'made', email: 'made@people.example', emailVerified: true });
  const confirmed = await of.user({ username: 'confirmed', email: 'former@people.example' });
  const person = { tenantId, userId: confirmed, ipAddress };
  await as('authorize').proposeEmail({ ...person, email: 'new@people.example', language: 'en' }, call());
  const letters = await of.smtp.gotAll(mails + 3);
  const link = letters.map((letter) => /te_[\w-]{43}/.exec(letter.link)?.[0]).find(Boolean) ?? '';
  await as('gateway').confirmEmail({ ...person, link }, call());

  const kept = async () =>
    of.query<{ user_id: string; identifier: string; provider: string; issuer: string }>(
      'email_proofs',
      'SELECT user_id, identifier, provider, issuer FROM directory.email_proof WHERE tenant_id = $1 ORDER BY identifier',
      tenantId,
    );
  const proofs = await kept();
  await of.query('forget_proofs', 'DELETE FROM directory.email_proof WHERE tenant_id = $1', tenantId);
  const migration = await readFile(new URL('0055_earlier_email_proofs.sql', migrations.directory), 'utf8');
  await of.query('fill_proofs', migration.slice(migration.indexOf('INSERT INTO')));
  const filled = await kept();
  expect(filled).toEqual(proofs.filter(({ user_id: userId }) => userId !== left));
  expect(filled).toEqual([
    { user_id: brought, identifier: 'brought@partner.example', provider: 'partner', issuer: partner.issuer },
    { user_id: confirmed, identifier: 'new@people.example', provider: '', issuer: '' },
    { user_id: registered, identifier: 'registered@people.example', provider: '', issuer: '' },
  ]);
});
