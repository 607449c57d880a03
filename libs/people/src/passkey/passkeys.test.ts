import { createHash, randomBytes } from 'node:crypto';
import type { Database } from '@tessera/stores';
import {
  authenticatorFlags,
  SoftwareAuthenticator,
  testDatabase,
  testEmbeddedDatabase,
  type Deviation,
  runsEverything,
} from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, startDirectory } from '../testing/start-directory.ts';
import { migrations } from '@tessera/directory';

const origin = 'https://id.example';
const rpId = 'id.example';
const { present, verified, synced, backedUp } = authenticatorFlags;
const newCeremony = () => ({ rpId, origin, challenge: randomBytes(32).toString('base64url') });
/** CBOR: `fmt` packed, `attStmt` {x5c: []}. */
const certified = Buffer.from('63666d74667061636b65646761747453746d74a16378356380', 'hex');
type Options = {
  readonly rp: object;
  readonly user: { readonly id: string };
  readonly excludeCredentials: { readonly id: string }[];
};

passkeysContract('postgres', async () => testDatabase(migrations));
if (runsEverything) passkeysContract('pglite', async () => testEmbeddedDatabase(migrations));

/** What passkeys do, on any engine. */
function passkeysContract(engine: string, open: () => Promise<Database>): void {
  let database: Database;
  let count = 0;
  beforeAll(async () => {
    database = await open();
  });

  /** A person of a tenant. */
  async function world() {
    const { api, as } = startDirectory(database);
    const tenantId = `${engine}${(count += 1)}`;
    await api.tenants.create({ tenantId, tenant: { name: 'Acme' } }, call());
    const { userId } = await api.users.create({ tenantId, user: { username: 'eve', name: 'Eve' } }, call());
    const authorize = as('authorize');
    const person = { tenantId, userId };
    const propose = async (ceremony = newCeremony()) =>
      (await authorize.proposePasskey({ ...person, ceremony }, call())).options;
    async function enrol(key: SoftwareAuthenticator, deviation?: Deviation, ceremony = newCeremony()) {
      const response = key.create(await propose(ceremony), deviation);
      return authorize.enrolPasskey({ ...person, ceremony, response, ipAddress: '203.0.113.9' }, call());
    }
    async function signIn(
      key: SoftwareAuthenticator,
      deviation?: Deviation,
      { userId: known = '', tenantId: at = tenantId, ceremony = newCeremony() } = {},
    ) {
      const response = key.get(ceremony, deviation);
      return authorize.verifyPasskey({ tenantId: at, userId: known, ceremony, response }, call());
    }
    return {
      api,
      authorize,
      person,
      propose,
      enrol,
      signIn,
      factors: async () => (await authorize.getUser(person, call())).user?.secondFactors,
      async enrolled(isSynced = false) {
        const key = new SoftwareAuthenticator(origin, isSynced);
        expect((await enrol(key)).user?.userId).toBe(userId);
        return key;
      },
      async events() {
        const { rows } = await database.query<{ event: string; reason: string | null }>({
          name: 'test.passkey_events',
          text: `SELECT event, record->>'reason' AS reason FROM directory.audit_event
                  WHERE tenant_id = $1 AND event LIKE 'auth.factor.%' ORDER BY event_id`,
          values: [tenantId],
        });
        return rows.map(({ event, reason }) => (reason === null ? event : `${event} ${reason}`));
      },
    };
  }

  describe(`a passkey, on ${engine}`, () => {
    it('is proposed with a handle that says nothing, user verification and what the person has (WebAuthn L3 §5.4, §14.6.1)', async () => {
      const { person, propose, enrolled } = await world();
      const before = JSON.parse(await propose()) as Options;
      expect(before).toMatchObject({
        rp: { id: rpId, name: 'Acme' },
        user: { name: 'eve (Acme)', displayName: 'Eve' },
        excludeCredentials: [],
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
        attestation: 'none',
      });
      expect(Buffer.from(before.user.id, 'base64url')).toHaveLength(32);
      for (const hidden of [person.userId, createHash('sha256').update(person.userId).digest('base64url')])
        expect(JSON.stringify(before)).not.toContain(hidden);
      const key = await enrolled();
      const after = JSON.parse(await propose()) as Options;
      expect(after.user.id).toBe(before.user.id);
      expect(after.excludeCredentials).toEqual([
        { type: 'public-key', id: key.credentialId, transports: ['internal'] },
      ]);
    });

    it.each([false, true])(
      'signs its person in without a password, several beside each other; synced: %s (WebAuthn L3 §7.2)',
      async (isSynced) => {
        const { person, enrolled, signIn, factors, events } = await world();
        expect(await factors()).toEqual([]);
        for (const key of [await enrolled(isSynced), await enrolled(isSynced)]) {
          for (let time = 0; time < 2; time += 1) {
            const { user, signedInAtMs, synced: isCopied } = await signIn(key);
            expect([user?.userId, isCopied]).toEqual([person.userId, isSynced]);
            expect(signedInAtMs).toBeGreaterThan(0n);
          }
          expect((await signIn(key, {}, person)).user?.userId).toBe(person.userId);
          expect((await signIn(key, { userHandle: null }, person)).user?.userId).toBe(person.userId);
        }
        expect(await factors()).toEqual(['passkey']);
        expect(await events()).toEqual(['auth.factor.added', 'auth.factor.added']);
      },
    );

    const wrongCreations: readonly [string, Deviation][] = [
      ['the type of an assertion (§7.1)', { type: 'webauthn.get' }],
      ['another challenge (§7.1, §13.4.3)', { challenge: newCeremony().challenge }],
      ['another origin (§7.1, §13.4.9)', { origin: 'https://evil.example' }],
      ['another port (§13.4.9)', { origin: 'https://id.example:8443' }],
      ['a frame of another origin (§7.1, §13.4.2)', { crossOrigin: true }],
      ['another domain (§7.1)', { rpId: 'example' }],
      ['nobody present (§7.1)', { flags: verified }],
      ['nobody verified (§7.1)', { flags: present }],
      ['a backup of what has none (§6.1.3)', { flags: present | verified | backedUp }],
      [
        'an algorithm that was not offered: ES384 (§7.1, CVE-2026-8830)',
        { algorithm: Buffer.from('3822', 'hex') },
      ],
      ['an attestation with certificates, which is not asked for (§5.4.7)', { attestation: certified }],
    ];
    it.each(wrongCreations)('is not enrolled with %s', async (_what, deviation) => {
      const { enrol, factors } = await world();
      expect((await enrol(new SoftwareAuthenticator(origin), deviation)).user).toBeUndefined();
      expect(await factors()).toEqual([]);
    });

    it('may be made by the browser alone after a password, which proves nothing (§5.1.3, §7.1 step 15)', async () => {
      const { authorize, person, propose, signIn, factors } = await world();
      const made = async (flags: number) => {
        const ceremony = newCeremony();
        const key = new SoftwareAuthenticator(origin);
        const response = key.create(await propose(ceremony), { flags });
        const answer = await authorize.enrolPasskey(
          { ...person, ceremony, response, byBrowser: true },
          call(),
        );
        return { key, answer };
      };
      for (const flags of [0, present]) {
        const { key, answer } = await made(flags);
        expect([answer.user?.userId, answer.unverified]).toEqual([person.userId, true]);
        expect((await signIn(key)).user?.userId).toBe(person.userId);
        expect((await signIn(key, { flags: present })).user, 'used by nobody in particular').toBeUndefined();
      }
      const { answer } = await made(present | verified);
      expect([answer.user?.userId, answer.unverified]).toEqual([person.userId, false]);
      expect(await factors()).toEqual(['passkey']);
    });

    const wrongUses: readonly [string, Deviation][] = [
      ['the type of a creation (§7.2)', { type: 'webauthn.create' }],
      ['another challenge (§7.2, §13.4.3, CVE-2026-28787)', { challenge: newCeremony().challenge }],
      ['another origin (§7.2, §13.4.9)', { origin: 'https://id.example.evil.example' }],
      ['a frame of another origin (§7.2, §13.4.2)', { crossOrigin: true }],
      ['another domain (§7.2)', { rpId: 'other.example' }],
      ['nobody present (§7.2)', { flags: verified }],
      ['nobody verified (§7.2, CVE-2026-47841)', { flags: present }],
      ['another kind of key than was enrolled (§7.2, §6.1.3)', { flags: present | verified | synced }],
      ['the signature of another key (§7.2)', { otherKey: true }],
      ['no user handle, when nobody is known (§7.2)', { userHandle: null }],
      ['the user handle of somebody else (§7.2)', { userHandle: 'AAAA' }],
      ['an identifier that nobody has (§7.2)', { credentialId: 'AAAA' }],
    ];
    it.each(wrongUses)('signs nobody in with %s', async (_what, deviation) => {
      const { enrolled, signIn } = await world();
      const key = await enrolled();
      const ceremony = newCeremony();
      expect((await signIn(key, deviation, { ceremony })).user).toBeUndefined();
      expect((await signIn(key, {}, { ceremony })).user, 'the challenge is not used up').toBeDefined();
    });

    it('signs nobody in with a counter that does not grow, and that is audited (WebAuthn L3 §6.1.1, §7.2)', async () => {
      const { enrolled, signIn, events } = await world();
      const key = await enrolled();
      expect((await signIn(key, { signCount: 7 })).user).toBeDefined();
      for (const signCount of [7, 6, 0]) expect((await signIn(key, { signCount })).user).toBeUndefined();
      expect((await signIn(key, { signCount: 8 })).user).toBeDefined();
      expect(await events()).toEqual(['auth.factor.added', ...Array(3).fill('auth.factor.refused counter')]);
    });

    it('is one of twenty at most', async () => {
      const { enrolled, enrol } = await world();
      for (let number = 0; number < 20; number += 1) await enrolled();
      expect((await enrol(new SoftwareAuthenticator(origin))).user).toBeUndefined();
    });

    it('answers a challenge for one of 20 callers, and creates once with one (WebAuthn L3 §13.4.3)', async () => {
      const { authorize, person, propose, enrolled, enrol, signIn } = await world();
      const key = await enrolled(true);
      const ceremony = newCeremony();
      const all = await Promise.all(Array.from({ length: 20 }, () => signIn(key, {}, { ceremony })));
      expect(all.filter(({ user }) => user !== undefined)).toHaveLength(1);
      const asked = newCeremony();
      const options = await propose(asked);
      const created = await Promise.all(
        Array.from({ length: 20 }, () => {
          const response = new SoftwareAuthenticator(origin).create(options);
          return authorize.enrolPasskey({ ...person, ceremony: asked, response }, call());
        }),
      );
      expect(created.filter(({ user }) => user !== undefined)).toHaveLength(1);
      expect((await enrol(key)).user, 'a passkey is enrolled once (§7.1)').toBeUndefined();
    });

    it('is of no use at another tenant of the same domain, to another person, or to who is disabled', async () => {
      const { api, person, enrolled, signIn } = await world();
      const key = await enrolled();
      const other = await world();
      await other.enrolled();
      expect((await signIn(key, {}, { tenantId: other.person.tenantId })).user).toBeUndefined();
      expect((await signIn(key, {}, { userId: other.person.userId })).user).toBeUndefined();
      const elsewhere = { ...newCeremony(), rpId: 'other.example', origin: 'https://other.example' };
      expect((await signIn(key, { origin: elsewhere.origin }, { ceremony: elsewhere })).user).toBeUndefined();
      await api.users.update({ ...person, user: { ...person, status: 'disabled' } }, call());
      expect((await signIn(key)).user).toBeUndefined();
    });

    it('is nothing but text of a browser: anything else is refused', async () => {
      const { authorize, person } = await world();
      const ceremony = newCeremony();
      const huge = JSON.stringify({ id: 'a'.repeat(10_000) });
      for (const response of ['', '{', 'null', '[]', '{"id":"AAAA"}', huge]) {
        expect(
          (await authorize.verifyPasskey({ ...person, ceremony, response }, call())).user,
        ).toBeUndefined();
        expect(
          (await authorize.enrolPasskey({ ...person, ceremony, response }, call())).user,
        ).toBeUndefined();
      }
      const unasked = { ...person, ceremony: { ...ceremony, challenge: 'short' }, response: '' };
      await expect(authorize.verifyPasskey(unasked, call())).rejects.toMatchObject({ code: 3 });
    });

    it.each(['id', 'rawId'])('signs nobody in whose %s is another than what has signed', async (part) => {
      const { authorize, person, enrolled } = await world();
      const [key, other] = [await enrolled(), await enrolled()];
      const ceremony = newCeremony();
      for (const otherKey of [true, false]) {
        const signed = JSON.parse(other.get(ceremony, { otherKey })) as object;
        const response = JSON.stringify({ ...signed, [part]: key.credentialId });
        expect(
          (await authorize.verifyPasskey({ ...person, ceremony, response }, call())).user,
        ).toBeUndefined();
      }
    });

    it('goes with a reset of second factors, which ends what was issued before', async () => {
      const { api, person, enrolled, signIn, factors, events } = await world();
      const key = await enrolled();
      expect((await api.users.resetSecondFactors({ ...person, validateOnly: true }, call())).removed).toEqual(
        ['passkey'],
      );
      expect((await api.users.resetSecondFactors(person, call())).removed).toEqual(['passkey']);
      expect(await factors()).toEqual([]);
      expect((await signIn(key)).user).toBeUndefined();
      expect(await events()).toEqual(['auth.factor.added', 'auth.factor.removed']);
    });
  });
}
