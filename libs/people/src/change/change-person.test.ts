import { migrations } from '@tessera/directory';
import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { URI, type TOTP } from 'otpauth';
import { expect, it } from 'vitest';
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
    expect(names.indexOf('lock_tenant_together')).toBe(1);
    return names.slice(names.findIndex((name) => name === 'end_sign_ins' || name === 'append_audit'));
  };
  const replaced = authorize.replacePassword({ ...ids, presentPassword: first, newPassword: second }, call());
  expect(await endOf('replace_password', replaced)).toEqual(ended);

  const codeOf = async (seed: string) =>
    (URI.parse((await authorize.proposeTotp({ ...ids, seed }, call())).uri) as TOTP).generate();
  const code = await codeOf('a-seed');
  await authorize.proposeRecoveryCodes({ ...ids, seed: 'a-seed' }, call());
  const { timeStep } = await authorize.verifyProposedTotp({ ...ids, seed: 'a-seed', code }, call());
  const both = { ...ids, seed: 'a-seed', ...(timeStep !== undefined && { timeStep }) };
  expect(await endOf('put_totp', authorize.adoptProposal(both, call()))).toEqual(told);
  expect(await endOf('put_recovery_codes', authorize.replaceRecoveryCodes(ids, call()))).toEqual([
    'append_audit',
    ...mail,
  ]);
  const removed = person.removeOwnFactor({ ...ids, credentialId: '' }, call());
  expect(await endOf('remove_totp', removed)).toEqual(ended);
  const enrolled = authorize.enrolTotp({ ...ids, seed: 'b-seed', code: await codeOf('b-seed') }, call());
  expect(await endOf('put_totp', enrolled)).toEqual(told);
  const app = { case: 'totp', value: true } as const;
  const deleted = api.users.deleteCredential({ ...ids, credential: app }, call());
  expect(await endOf('remove_totp', deleted)).toEqual(ended);
  const again = authorize.enrolTotp({ ...ids, seed: 'c-seed', code: await codeOf('c-seed') }, call());
  expect(await endOf('put_totp', again)).toEqual(told);
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
