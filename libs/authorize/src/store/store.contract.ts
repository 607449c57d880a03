import { UserGrantSchema } from '@tessera/proto-gen/oauth';
import { create } from '@tessera/rpc';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { systemRandom } from '@tessera/kit';
import { purposes } from './visit-store.ts';
import type { CodePresentation, CodeRecord, CodeStore } from './visit-store.ts';
import type { AnsweredVisit, VisitStore, Visit } from './visit-store.ts';

/** Every test works on keys of its own. */
const unique = (): string => systemRandom.bytes(8).toString('hex');

const pending: Visit = {
  purpose: 'code',
  browserHash: 'ab'.repeat(32),
  tenantId: 'acme',
  issuer: 'https://id.example',
  parameters: { client_id: 'web', state: 'å"\\ \u2028', scope: 'openid' },
  hintedUserId: 'u1',
  seed: 'a-seed',
  totpStep: 58_000_000,
  departure: { provider: 'corp', issuer: 'https://idp.example', ticketHash: 'x', leftAt: 1.5, resume: 'a=b' },
  done: [],
};

const answeredBy = (codeHash: string): AnsweredVisit => ({
  request: pending,
  codeHash,
  sessionId: 's1',
  userId: 'u1',
});

/** What every store of visits must do. */
export function visitStoreContract(engine: string, openWith: (quota: number) => Promise<VisitStore>): void {
  const open = () => openWith(1000);

  describe(`visits on ${engine}`, () => {
    it('returns what was saved, byte for byte', async () => {
      const store = await open();
      const id = unique();
      await store.save(id, pending, 60, '192.0.2.1');
      expect(await store.find(id)).toEqual(pending);
      expect(await store.find(unique())).toBeUndefined();
    });

    it('keeps what a browser left for, a sign-in or a link', async () => {
      const store = await open();
      const id = unique();
      const departure = { ...pending.departure, linkSessionId: 's1' } as NonNullable<Visit['departure']>;
      await store.save(id, { ...pending, departure }, 60, '192.0.2.1');
      expect((await store.find(id))?.departure).toEqual(departure);
      await store.update(id, pending);
      expect((await store.find(id))?.departure).toEqual(pending.departure);
    });

    it.each(purposes)(
      'keeps the purpose %s, before and after it is updated and answered',
      async (purpose) => {
        const store = await open();
        const id = unique();
        const visit = { ...pending, purpose };
        await store.save(id, visit, 60, '192.0.2.1');
        expect(await store.find(id)).toEqual(visit);
        await store.update(id, { ...visit, done: ['password'] });
        expect(await store.find(id)).toEqual({ ...visit, done: ['password'] });
        await store.answer(id, { ...answeredBy(''), request: visit }, 60);
        expect((await store.findAnswered(id))?.request).toEqual(visit);
        await store.answerAgain(id, { ...answeredBy(''), request: visit }, 60);
        expect((await store.findAnswered(id))?.request).toEqual(visit);
      },
    );

    it('lets exactly one of fifty callers answer a request, and keeps that answer for its lifetime', async () => {
      const store = await open();
      const id = unique();
      await store.save(id, pending, 60, '192.0.2.1');
      expect(await store.findAnswered(id)).toBeUndefined();
      const answers = Array.from({ length: 50 }, (_, index) => answeredBy(`code-${index}`));
      const first = await Promise.all(answers.map((answered) => store.answer(id, answered, 60)));
      expect(first.filter(Boolean)).toHaveLength(1);
      expect(await store.find(id)).toBeUndefined();
      expect(await store.findAnswered(id)).toEqual(answers[first.indexOf(true)]);
      await store.answerAgain(id, answeredBy('later'), 60);
      expect(await store.findAnswered(id)).toEqual(answeredBy('later'));
      await store.answerAgain(id, answeredBy('last'), 0.15);
      await expect.poll(() => store.findAnswered(id)).toBeUndefined();
      await store.answerAgain(id, answeredBy('too late'), 60);
      expect(await store.findAnswered(id)).toBeUndefined();
    });

    it('keeps so many requests of one address at most, when two hundred race, and of others still (DOS-8)', async () => {
      const store = await openWith(20);
      const [address, other] = [unique(), unique()];
      const ids = Array.from({ length: 200 }, unique);
      const saved = await Promise.allSettled(ids.map((id) => store.save(id, pending, 60, address)));
      const kept = ids.filter((_, index) => saved[index]?.status === 'fulfilled');
      expect(kept).toHaveLength(20);
      const limited = { code: 'rate_limited', retryAfterSeconds: expect.any(Number) as number };
      await expect(store.save(unique(), pending, 60, address)).rejects.toMatchObject(limited);
      await store.save(unique(), pending, 60, other);
      expect(await store.answer(kept[7] ?? '', answeredBy('code'), 60)).toBe(true);
      await store.save(unique(), pending, 60, address);
      await expect(store.save(unique(), pending, 60, address)).rejects.toMatchObject(limited);
    });

    it('counts no request of an address after its lifetime', async () => {
      const store = await openWith(1);
      const address = unique();
      await store.save(unique(), pending, 0.15, address);
      await expect(store.save(unique(), pending, 60, address)).rejects.toMatchObject({
        code: 'rate_limited',
      });
      await pause(250);
      await store.save(unique(), pending, 60, address);
    });

    it('replaces a visit while it lives, for the rest of its lifetime, and still counts it on its address', async () => {
      const store = await openWith(1);
      const [id, address] = [unique(), unique()];
      const person = { userId: 'u1', signedInAt: 1_767_225_600_123, methods: ['pwd'] };
      const later: Visit = { ...pending, person, done: ['password'] };
      expect(await store.update(id, later)).toBe(false);
      await store.save(id, pending, 0.3, address);
      expect(await store.update(id, later)).toBe(true);
      expect(await store.find(id)).toEqual(later);
      await expect(store.save(unique(), pending, 60, address)).rejects.toMatchObject({
        code: 'rate_limited',
      });
      await pause(400);
      expect(await store.find(id)).toBeUndefined();
      const next = unique();
      await store.save(next, pending, 60, address);
      await store.update(next, later);
      expect(await store.answer(next, answeredBy('code'), 60)).toBe(true);
      expect(await store.update(next, later)).toBe(false);
      await store.save(unique(), pending, 60, address);
    });

    it('drops a request after its lifetime', async () => {
      const store = await open();
      const id = unique();
      await store.save(id, pending, 0.15, '192.0.2.1');
      expect(await store.find(id)).toEqual(pending);
      await pause(250);
      expect(await store.find(id)).toBeUndefined();
      expect(await store.answer(id, answeredBy('code'), 60)).toBe(false);
    });
  });
}

/** The record of a code that a person got in a session. */
export function codeRecord(sessionId = unique()): CodeRecord {
  return {
    grant: create(UserGrantSchema, {
      tenantId: 'acme',
      clientId: 'web',
      userId: 'u1',
      scopes: ['openid', 'orders.read'],
      resource: 'https://orders.example',
      nonce: 'n "1"',
      authentication: { time: 1_767_225_600, methods: ['pwd'] },
      sessionId,
      issuer: 'https://id.example',
      userinfoClaims: ['name'],
      idTokenClaims: ['email'],
    }),
    codeChallenge: 'challenge',
    redirectUri: 'https://app.example/cb',
  };
}

const right: CodePresentation = {
  tenantId: 'acme',
  clientId: 'web',
  codeChallenge: 'challenge',
  redirectUri: 'https://app.example/cb',
  confidential: false,
};

/** What every store of codes must do. */
export function codeStoreContract(engine: string, open: () => Promise<CodeStore>): void {
  describe(`codes on ${engine}`, () => {
    redemptionContract(open);
    sessionDropContract(open);
  });
}

/** What stores of codes and visits that are opened together must do. */
export function answeringContract(
  engine: string,
  open: () => Promise<{ readonly visits: VisitStore; readonly codes: CodeStore }>,
): void {
  describe(`codes that answer visits on ${engine}`, () => {
    it('save the code of one of fifty callers, and keep its answer', async () => {
      const { visits, codes } = await open();
      const idHash = unique();
      await visits.save(idHash, pending, 60, unique());
      const hashes = Array.from({ length: 50 }, unique);
      const saved = await Promise.all(
        hashes.map((hash) =>
          codes.save(hash, codeRecord(), 60, { idHash, answered: answeredBy(hash), lifetimeSeconds: 60 }),
        ),
      );
      const first = hashes[saved.indexOf('saved')] ?? '';
      expect(saved.toSorted()).toEqual(['saved', ...Array.from({ length: 49 }, () => 'visit_ended')]);
      expect(await visits.find(idHash)).toBeUndefined();
      expect(await visits.findAnswered(idHash)).toEqual(answeredBy(first));
      for (const hash of hashes)
        expect((await codes.redeem(hash, right)).outcome).toBe(hash === first ? 'granted' : 'unknown');
    });

    it('give a place of its address back', async () => {
      const { visits, codes } = await open();
      const address = unique();
      const ids = Array.from({ length: 1000 }, unique);
      await Promise.all(ids.map(async (id) => visits.save(id, pending, 60, address)));
      await expect(visits.save(unique(), pending, 60, address)).rejects.toMatchObject({
        code: 'rate_limited',
      });
      const ending = { idHash: ids[7] ?? '', answered: answeredBy('code'), lifetimeSeconds: 60 };
      expect(await codes.save(unique(), codeRecord(), 60, ending)).toBe('saved');
      await visits.save(unique(), pending, 60, address);
    });

    it('keep a visit whose session has ended, for another attempt', async () => {
      const { visits, codes } = await open();
      const [idHash, hash] = [unique(), unique()];
      await visits.save(idHash, pending, 60, unique());
      const record = codeRecord();
      await codes.dropSession(record.grant.sessionId, 60);
      const ending = { idHash, answered: answeredBy(hash), lifetimeSeconds: 60 };
      expect(await codes.save(hash, record, 60, ending)).toBe('session_ended');
      expect(await visits.find(idHash)).toEqual(pending);
    });
  });
}

function redemptionContract(open: () => Promise<CodeStore>): void {
  async function saved(): Promise<{ store: CodeStore; hash: string; record: CodeRecord }> {
    const store = await open();
    const hash = unique();
    const record = codeRecord();
    expect(await store.save(hash, record, 60)).toBe('saved');
    return { store, hash, record };
  }

  it('returns the saved grant for a correct presentation', async () => {
    const { store, hash, record } = await saved();
    const { grant } = record;
    expect(await store.redeem(hash, right)).toEqual({
      outcome: 'granted',
      grant,
      takenBefore: false,
      burnt: false,
    });
  });

  it('returns it again while it lives, because the durable marker decides which one counts', async () => {
    const { store, hash, record } = await saved();
    const all = await Promise.all(Array.from({ length: 50 }, () => store.redeem(hash, right)));
    const { grant } = record;
    expect(all).toEqual(
      all.map(() => ({
        outcome: 'granted',
        grant,
        takenBefore: expect.any(Boolean) as boolean,
        burnt: false,
      })),
    );
    const first = all.filter((one) => one.outcome === 'granted' && !one.takenBefore);
    expect(first, 'one of them is the first').toHaveLength(1);
  });

  it('withdraws a code that was never presented, for exactly one of fifty callers, and no other', async () => {
    const { store, hash } = await saved();
    const withdrawn = await Promise.all(Array.from({ length: 50 }, () => store.withdraw(hash)));
    expect(withdrawn.filter(Boolean)).toHaveLength(1);
    expect(await store.redeem(hash, right)).toEqual({ outcome: 'unknown' });
    const used = await saved();
    await used.store.redeem(used.hash, right);
    expect(await used.store.withdraw(used.hash)).toBe(false);
    expect(await used.store.redeem(used.hash, right)).toMatchObject({
      outcome: 'granted',
      takenBefore: true,
    });
  });

  it('either withdraws a code or lets its client redeem it, whichever comes first', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { store, hash } = await saved();
      const [withdrawn, redeemed] = await Promise.all([store.withdraw(hash), store.redeem(hash, right)]);
      expect(withdrawn).toBe(redeemed.outcome !== 'granted');
    }
  });

  it('does not know a code that was never saved', async () => {
    const { store } = await saved();
    expect(await store.redeem(unique(), right)).toEqual({ outcome: 'unknown' });
  });

  it('drops a code after its lifetime, also one that was taken', async () => {
    const store = await open();
    const [fresh, taken] = [unique(), unique()];
    await store.save(fresh, codeRecord(), 0.15);
    await store.save(taken, codeRecord(), 0.15);
    await store.redeem(taken, right);
    await pause(250);
    expect(await store.redeem(fresh, right)).toEqual({ outcome: 'unknown' });
    expect(await store.redeem(taken, right)).toEqual({ outcome: 'unknown' });
  });

  it.each([
    ['client', { clientId: 'other' }],
    ['tenant', { tenantId: 'other' }],
    ['client with a wrong verifier', { clientId: 'other', codeChallenge: 'wrong' }],
  ])('refuses another %s and changes nothing', async (_what, difference) => {
    const { store, hash } = await saved();
    expect(await store.redeem(hash, { ...right, ...difference })).toEqual({ outcome: 'other_client' });
    expect((await store.redeem(hash, right)).outcome).toBe('granted');
    expect(await store.redeem(hash, { ...right, ...difference })).toEqual({ outcome: 'other_client' });
    expect((await store.redeem(hash, right)).outcome).toBe('granted');
  });

  it.each([
    ['verifier', 'wrong_verifier', { codeChallenge: 'wrong' }],
    ['verifier that is none', 'wrong_verifier', { codeChallenge: '' }],
    ['redirect URI', 'wrong_redirect_uri', { redirectUri: 'https://app.example/cb/' }],
    ['redirect URI that is empty', 'wrong_redirect_uri', { redirectUri: '' }],
  ])('burns the code at a wrong %s', async (_what, outcome, difference) => {
    const { store, hash } = await saved();
    expect(await store.redeem(hash, { ...right, ...difference })).toEqual({ outcome });
    expect(await store.redeem(hash, right)).toEqual({ outcome: 'burnt' });
  });

  it.each([
    ['verifier', 'wrong_verifier', { codeChallenge: 'wrong' }],
    ['redirect URI', 'wrong_redirect_uri', { redirectUri: 'https://app.example/cb/' }],
  ])(
    'burns a code that was taken at a wrong %s, and still tells of a replay',
    async (_what, outcome, wrong) => {
      const { store, hash, record } = await saved();
      await store.redeem(hash, right);
      expect(await store.redeem(hash, { ...right, ...wrong })).toEqual({ outcome });
      const { grant } = record;
      const replayed = { outcome: 'granted', grant, takenBefore: true, burnt: true };
      expect(await store.redeem(hash, right)).toEqual(replayed);
      expect(await store.redeem(hash, { ...right, ...wrong })).toEqual({ outcome });
      expect(await store.redeem(hash, right)).toEqual(replayed);
    },
  );

  it.each([
    ['verifier', { codeChallenge: 'wrong' }],
    ['redirect URI', { redirectUri: 'https://app.example/cb/' }],
  ])(
    'tells of a second use by a confidential client also with a wrong %s (RFC 6749 §4.1.2)',
    async (_what, wrong) => {
      const { store, hash, record } = await saved();
      await store.redeem(hash, { ...right, confidential: true });
      const { grant } = record;
      const replayed = { outcome: 'granted', grant, takenBefore: true, burnt: true };
      expect(await store.redeem(hash, { ...right, ...wrong, confidential: true })).toEqual(replayed);
      expect(await store.redeem(hash, right)).toEqual(replayed);
    },
  );

  it('is burnt by a confidential client as by any other while it was not taken', async () => {
    const { store, hash } = await saved();
    const wrong = { ...right, codeChallenge: 'wrong', confidential: true };
    expect(await store.redeem(hash, wrong)).toEqual({ outcome: 'wrong_verifier' });
    expect(await store.redeem(hash, { ...right, confidential: true })).toEqual({ outcome: 'burnt' });
  });

  it('reports what was wrong with every wrong presentation, also of a burnt code', async () => {
    const { store, hash } = await saved();
    await store.redeem(hash, { ...right, codeChallenge: 'wrong' });
    const again = await store.redeem(hash, { ...right, redirectUri: 'https://app.example/cb/' });
    expect(again).toEqual({ outcome: 'wrong_redirect_uri' });
    expect(await store.redeem(hash, right)).toEqual({ outcome: 'burnt' });
  });

  it('grants nothing to issue after a burn, whatever races', async () => {
    for (let round = 0; round < 40; round += 1) {
      const { store, hash } = await saved();
      const presented = Array.from({ length: 20 }, (_, i) =>
        i % 2 === round % 2 ? right : { ...right, codeChallenge: 'wrong' },
      );
      const outcomes = await Promise.all(presented.map((one) => store.redeem(hash, one)));
      const usable = outcomes.filter((one) => one.outcome === 'granted' && !one.burnt);
      const last = await store.redeem(hash, right);
      expect(last.outcome === 'granted' ? last.burnt : last.outcome, `round ${round}`).toBe(
        usable.length > 0 ? true : 'burnt',
      );
    }
  });
}

function sessionDropContract(open: () => Promise<CodeStore>): void {
  it('drops the codes of one session and no others', async () => {
    const store = await open();
    const [first, second, foreign] = [unique(), unique(), unique()];
    const record = codeRecord();
    await store.save(first, record, 60);
    await store.save(second, record, 60);
    await store.save(foreign, codeRecord(), 60);
    expect(await store.dropSession(record.grant.sessionId, 60)).toBe(2);
    expect(await store.redeem(first, right)).toEqual({ outcome: 'unknown' });
    expect(await store.redeem(second, right)).toEqual({ outcome: 'unknown' });
    expect((await store.redeem(foreign, right)).outcome).toBe('granted');
  });

  it('saves no code for a session that was dropped, and says so again when dropped twice', async () => {
    const store = await open();
    const record = codeRecord();
    const { sessionId } = record.grant;
    expect(await store.dropSession(sessionId, 60)).toBe(0);
    expect(await store.dropSession(sessionId, 60)).toBe(0);
    const hash = unique();
    expect(await store.save(hash, record, 60)).toBe('session_ended');
    expect(await store.redeem(hash, right)).toEqual({ outcome: 'unknown' });
  });

  it('drops with a session the codes of those that it follows, and saves none for them afterwards', async () => {
    const store = await open();
    const records = Array.from({ length: 3 }, () => codeRecord());
    const hashes = records.map(unique);
    for (const [at, record] of records.entries()) {
      const { sessionId } = record.grant;
      await store.save(hashes[at] ?? '', record, 60);
      if (at > 0) await store.followSession(records[at - 1]?.grant.sessionId ?? '', sessionId, 60);
    }
    expect(await store.dropSession(records[1]?.grant.sessionId ?? '', 60)).toBe(2);
    const outcomes = await Promise.all(hashes.map(async (hash) => (await store.redeem(hash, right)).outcome));
    expect(outcomes).toEqual(['unknown', 'unknown', 'granted']);
    const late = await Promise.all(records.map((record) => store.save(unique(), record, 60)));
    expect(late).toEqual(['session_ended', 'session_ended', 'saved']);
    expect(await store.dropSession(records[2]?.grant.sessionId ?? '', 60)).toBe(2);
  });

  it('still knows a code that was taken before its session was dropped, but grants nothing for it', async () => {
    const store = await open();
    const record = codeRecord();
    const hash = unique();
    await store.save(hash, record, 60);
    await store.redeem(hash, right);
    expect(await store.dropSession(record.grant.sessionId, 60)).toBe(1);
    expect(await store.dropSession(record.grant.sessionId, 60), 'dropped before').toBe(0);
    const { grant } = record;
    const replayed = { outcome: 'granted', grant, takenBefore: true, burnt: true };
    expect(await store.redeem(hash, right)).toEqual(replayed);
  });

  it('drops a code with its session whatever the lifetimes of codes of that session that came later', async () => {
    const store = await open();
    const record = codeRecord();
    const [long, short] = [unique(), unique()];
    await store.save(long, record, 60);
    await store.save(short, record, 0.05);
    await pause(100);
    await store.dropSession(record.grant.sessionId, 60);
    expect(await store.redeem(long, right)).toEqual({ outcome: 'unknown' });
  });

  it('leaves no code behind if issuing races the end of the session', async () => {
    for (let round = 0; round < 40; round += 1) {
      const store = await open();
      const record = codeRecord();
      const hashes = Array.from({ length: 10 }, unique);
      const before = hashes.slice(0, round % 10).map((hash) => store.save(hash, record, 60));
      const dropped = store.dropSession(record.grant.sessionId, 60);
      const after = hashes.slice(round % 10).map((hash) => store.save(hash, record, 60));
      await Promise.all([...before, dropped, ...after]);
      const left = await Promise.all(hashes.map((hash) => store.redeem(hash, right)));
      expect(left.filter(({ outcome }) => outcome === 'granted')).toEqual([]);
    }
  });
}
