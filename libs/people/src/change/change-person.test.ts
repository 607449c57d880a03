import { migrations } from '@tessera/directory';
import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { expect, it } from 'vitest';
import { proposedApp } from '../testing/enrol-app.ts';
import { mailWorld } from '../testing/mail-world.ts';
import { call } from '../testing/start-directory.ts';

/** The database, and the names of the statements of each transaction on it. */
function recording(database: Database): Database & { readonly transactions: string[][] } {
  const transactions: string[][] = [];
  return {
    ...database,
    transactions,
    transaction: (work) => {
      const names: string[] = [];
      transactions.push(names);
      return database.transaction(async (tx) =>
        work({
          query: (statement) => {
            names.push(statement.name.replace('directory.', ''));
            return tx.query(statement);
          },
        }),
      );
    },
  };
}

it('every change of a person ends sign-ins, has its audit rows, tells the person and, last, takes its place in the feed', async () => {
  const database = recording(await testDatabase(migrations));
  const { tenantId, userId, as, api, person, smtp, forget, redeem } = await mailWorld(database);
  const [first, second] = ['the first one of eve', 'the second one of eve'];
  const ids = { tenantId, userId };
  const authorize = as('authorize');
  const mail = ['has_address', 'put_mail'];
  const feed = ['lock_feed', 'append_changes', 'prune_changes'];
  const told = ['append_audit', ...mail, ...feed];
  const ended = ['end_sign_ins', ...told];
  /** What the transaction of a change does from the end of sign-ins or the audit rows on; it locks the tenant first. */
  const endOf = async (statement: string, change: Promise<unknown>) => {
    await change;
    const names = database.transactions.find((all) => all.includes(statement)) ?? [];
    database.transactions.length = 0;
    expect(names.indexOf('lock_tenant_together')).toBe(0);
    return names.slice(names.findIndex((name) => name === 'end_sign_ins' || name === 'append_audit'));
  };
  const replaced = authorize.replacePassword({ ...ids, presentPassword: first, newPassword: second }, call());
  expect(await endOf('replace_password', replaced)).toEqual(ended);

  const app = async (seed: string) => {
    const proposed = await proposedApp(authorize, ids, seed);
    return endOf('put_totp', authorize.adoptProposal(proposed, call()));
  };
  expect(await app('a-seed')).toEqual(told);
  const codes = authorize.adoptProposal({ ...ids, seed: 'codes' }, call());
  expect(await endOf('put_recovery_codes', codes)).toEqual(['append_audit', ...mail]);
  const removed = person.removeOwnFactor({ ...ids, credentialId: '' }, call());
  expect(await endOf('remove_totp', removed)).toEqual(ended);
  expect(await app('b-seed')).toEqual(told);
  const credential = { case: 'totp', value: true } as const;
  const deleted = api.users.deleteCredential({ ...ids, credential }, call());
  expect(await endOf('remove_totp', deleted)).toEqual(ended);
  expect(await app('c-seed')).toEqual(told);
  expect(await endOf('forget_totp', api.users.resetSecondFactors(ids, call()))).toEqual(ended);
  expect(await endOf('unlock_user', api.users.unlock(ids, call()))).toEqual(['append_audit', ...feed]);

  await forget('eve');
  const links = (await smtp.gotAll(9)).map(({ link }) => link);
  const reset = links.find((uri) => uri.includes('link=')) ?? '';
  expect(await endOf('set_password_by_link', redeem(reset, first))).toEqual(ended);
  expect(await endOf('remove_password', api.users.lockDown(ids, call()))).toEqual([
    'end_sign_ins',
    'note_lockdown',
    ...told,
  ]);
});
