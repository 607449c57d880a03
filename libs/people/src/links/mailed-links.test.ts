import { createHash } from 'node:crypto';
import { migrations } from '@tessera/directory';
import type { Database } from '@tessera/stores';
import { SoftwareAuthenticator, testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { issuer, mailWorld } from '../testing/mail-world.ts';
import { call } from '../testing/start-directory.ts';
import { corp } from '../testing/two-providers.ts';

let database: Database;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

const password = 'the passphrase of the officer';
const linkIn = (uri: string) => new URL(uri).searchParams.get('link') ?? '';

/** A tenant whose people are linked to a provider by an address that they proved. */
async function world() {
  const of = await mailWorld(database);
  const { tenantId, files, api, as, smtp, query } = of;
  const declare = async (users: readonly object[] = []) => {
    const document = JSON.stringify({ owner: 'file', tenants: [{ id: tenantId, providers: [corp], users }] });
    await files.apply({ document, fileName: 'state.yaml' }, call());
  };
  await declare();
  const ivy = { username: 'ivy', email: 'Ivy@people.example' };
  const person = { tenantId, userId: await of.user(ivy) };
  return {
    ...of,
    ...ivy,
    person,
    declare,
    /** Makes a link and returns what was mailed, or handed out. */
    async linkFor(purpose: string, mail = true, userId = person.userId) {
      const before = smtp.received.length;
      const { uri } = await api.users.createPasswordLink({ tenantId, userId, purpose, mail }, call());
      return mail ? ((await smtp.gotAll(before + 1)).at(-1)?.link ?? '') : uri;
    },
    verified: async (userId = person.userId) =>
      (await api.users.get({ tenantId, userId }, call())).emailVerified,
    /** Why a provider that says the address is not linked to its person; empty if it is. */
    async refusal(email = ivy.email) {
      const proof = {
        tenantId,
        provider: 'corp',
        issuer: corp.issuer,
        subject: email,
        ipAddress: '192.0.2.1',
      };
      const said = { ...proof, email, emailVerified: true };
      return (await as('authorize').signInWithProvider(said, call())).refusal;
    },
    /** As an administrator says it, who proves nothing. */
    say: async () =>
      api.users.update({ tenantId, user: { userId: person.userId, emailVerified: true } }, call()),
    updates: async () =>
      (await of.audited('user.updated')).filter(({ subject }) => subject === person.userId).length,
    move: async (email: string) =>
      query(
        'move',
        'UPDATE directory.user_account SET email = $3 WHERE tenant_id = $1 AND user_id = $2',
        tenantId,
        person.userId,
        email,
      ),
  };
}

describe('a link that was mailed to somebody', () => {
  it.each(['invitation', 'reset'])('proves the address once a password is set: %s', async (purpose) => {
    const { linkFor, redeem, verified, refusal, updates, audited } = await world();
    const link = await linkFor(purpose);
    expect(await verified()).toBeUndefined();
    expect(await refusal()).toBe('taken');
    await redeem(link, password);
    expect(await verified()).toBe(true);
    expect(await updates()).toBe(1);
    expect((await audited('user.updated'))[0]?.record).toMatchObject({
      details: { changed: 'emailVerified' },
      actor: { type: 'user' },
    });
    expect(await refusal()).toBe('');
  });

  it('proves it once the passkey of an invitation is made', async () => {
    const { linkFor, as, verified, refusal } = await world();
    const link = linkIn(await linkFor('invitation'));
    const { passkeyOptions, passkeyNonce } = await as('gateway').getPasswordLink({ link, issuer }, call());
    const passkey = new SoftwareAuthenticator(issuer).create(passkeyOptions);
    const answer = { link, issuer, passkey, passkeyNonce, ipAddress: '192.0.2.1' };
    expect(await as('gateway').redeemPasswordLink(answer, call())).toMatchObject({ passkeyRefused: false });
    expect(await verified()).toBe(true);
    expect(await refusal()).toBe('');
  });

  it('proves it if they asked for it as they forgot the password', async () => {
    const { smtp, forget, redeem, verified, userId, refusal } = await world();
    await forget('eve');
    await redeem((await smtp.gotAll(1)).at(-1)?.link ?? '', password);
    expect(await verified(userId)).toBe(true);
    expect(await refusal('eve@people.example')).toBe('');
  });

  it('proves nothing of an address that they got since', async () => {
    const { linkFor, redeem, move, say, verified, refusal } = await world();
    const link = await linkFor('invitation');
    await move('other@people.example');
    expect(await redeem(link, password)).toMatchObject({ passwordProblem: '' });
    expect(await verified()).toBeUndefined();
    await move('Ivy@people.example');
    await say();
    expect(await refusal()).toBe('unproven');
  });

  it('leaves a record that a file declares as it is declared', async () => {
    const { declare, linkFor, redeem, verified, api, tenantId, refusal } = await world();
    const declared = { username: 'dan', email: 'dan@people.example' };
    await declare([declared]);
    const [dan] = (await api.users.list({ tenantId, search: 'dan' }, call())).users;
    await redeem(await linkFor('invitation', true, dan?.userId), password);
    expect(await verified(dan?.userId)).toBeUndefined();
    expect(await refusal(declared.email)).toBe('taken');
  });
});

describe('a link that an administrator handed out', () => {
  it.each(['invitation', 'reset'])('proves nothing, also after one was mailed: %s', async (purpose) => {
    const { linkFor, redeem, say, verified, refusal } = await world();
    await linkFor(purpose);
    await redeem(await linkFor(purpose, false), password);
    expect(await verified()).toBeUndefined();
    await say();
    expect(await refusal()).toBe('unproven');
  });

  it('proves nothing if the version before put it in the place of one that was mailed', async () => {
    const { linkFor, redeem, query, person, verified } = await world();
    await linkFor('invitation');
    const link = `tl_${'x'.repeat(43)}`;
    await query(
      'former_version_replaces',
      'UPDATE directory.password_link SET digest = $3 WHERE tenant_id = $1 AND user_id = $2',
      person.tenantId,
      person.userId,
      createHash('sha256').update(link).digest(),
    );
    expect(await redeem(`${issuer}/link?link=${link}`, password)).toMatchObject({ passwordProblem: '' });
    expect(await verified()).toBeUndefined();
  });
});
