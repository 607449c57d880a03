import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHash } from 'node:crypto';
import { createWorld, password, verifier } from '../testing/world.ts';
import type { World } from '../testing/world.ts';
import { redemption, newPerson } from '../testing/visitor.ts';

let world: World;
const failpoints: string[] = [];
beforeAll(async () => {
  world = await createWorld({ runtime: { failpoint: (name) => void failpoints.push(name) } });
});
afterAll(() => world.service.close());

const invalidGrant = {
  code: 'invalid_grant',
  message: 'The authorization code is invalid, expired or already used.',
};

async function freshCode(): Promise<string> {
  return newPerson(world).signIn();
}

describe('redeeming a code', () => {
  it('returns the grant and the SHA-256 of the code, the key of the durable marker (RFC 6749 §4.1.3)', async () => {
    const code = await freshCode();
    const { userGrant: grant, codeHash } = await world.token.redeemCode(redemption(code));
    expect(grant).toMatchObject({ clientId: 'acme-web', tenantId: 'acme', userId: 'acme-ada' });
    expect(Buffer.from(codeHash)).toEqual(createHash('sha256').update(code).digest());
  });

  it('costs one script and no statement', async () => {
    const code = await freshCode();
    world.database.reset();
    world.redis.reset();
    await world.token.redeemCode(redemption(code));
    expect(world.redis.names).toEqual(['authorize.redeem_code']);
    expect(world.database.names.filter((name) => !name.startsWith('audit.'))).toEqual([]);
  });

  it('succeeds again after a process died between taking and committing, so that a client can retry', async () => {
    const code = await freshCode();
    failpoints.length = 0;
    const first = await world.token.redeemCode(redemption(code));
    expect(failpoints).toEqual(['code.taken']);
    expect(await world.token.redeemCode(redemption(code))).toEqual({ ...first, takenBefore: true });
  });

  it('returns the same grant to fifty concurrent calls, for the marker to arbitrate', async () => {
    const code = await freshCode();
    const all = await Promise.all(Array.from({ length: 50 }, () => world.token.redeemCode(redemption(code))));
    const grants = all.map(({ userGrant: grant, codeHash }) => ({ grant, codeHash }));
    expect(grants).toEqual(grants.map(() => grants[0]));
    expect(all.filter(({ takenBefore }) => !takenBefore)).toHaveLength(1);
    expect(all.filter(({ burnt }) => burnt)).toEqual([]);
  });

  it.each([
    '',
    'tc_',
    `tc_${'a'.repeat(42)}`,
    `tc_${'a'.repeat(44)}`,
    `ts_${'a'.repeat(43)}`,
    `tc_${'a'.repeat(42)}=`,
    `tc_${'a'.repeat(42)}\u0001`,
  ])('refuses %j by its form, without asking any store (RFC 6749 §5.2)', async (code) => {
    world.redis.reset();
    await expect(world.token.redeemCode(redemption(code))).rejects.toMatchObject(invalidGrant);
    expect(world.redis.names).toEqual([]);
  });

  it('rejects a well-formed code that was never issued, and one that was altered (RFC 6749 §5.2)', async () => {
    const code = await freshCode();
    const flipped = code.slice(0, -1) + (code.endsWith('A') ? 'B' : 'A');
    for (const other of [`tc_${'a'.repeat(43)}`, flipped, ` ${code}`, `${code}A`, code.toUpperCase()]) {
      await expect(world.token.redeemCode(redemption(other))).rejects.toMatchObject(invalidGrant);
    }
    await expect(world.token.redeemCode(redemption(code))).resolves.toBeDefined();
  });

  it('rejects a code after its lifetime (RFC 6749 §4.1.2)', async () => {
    const quick = await createWorld({ beside: world, config: { TESSERA_AUTHORIZATION_CODE_TTL: 0.2 } });
    const code = await newPerson(quick).signIn();
    await new Promise((resolve) => setTimeout(resolve, 300));
    await expect(quick.token.redeemCode(redemption(code))).rejects.toMatchObject(invalidGrant);
    await quick.service.close();
  });
});

describe('an application with its own code lifetime', () => {
  it('overrides that of the deployment (RFC 6749 §4.1.2)', async () => {
    const lifetimes = { authorizationCode: 1 };
    await world.directory.changeApplication('acme-web', { lifetimes });
    const code = await freshCode();
    await world.directory.changeApplication('acme-web', { lifetimes: { authorizationCode: 0 } });
    const late = await freshCode();
    await new Promise((resolve) => setTimeout(resolve, 1200));
    await expect(world.token.redeemCode(redemption(code))).rejects.toMatchObject(invalidGrant);
    await expect(world.token.redeemCode(redemption(late))).resolves.toBeDefined();
  });
});

describe('binding to the client', () => {
  it.each([
    ['client', { clientId: 'acme-spa' }],
    ['tenant', { tenantId: 'umbra' }],
    ['client with a wrong verifier', { clientId: 'acme-spa', codeVerifier: 'w'.repeat(43) }],
  ])(
    'refuses another %s and changes nothing: the owner can still redeem (RFC 6749 §10.5)',
    async (_w, other) => {
      const code = await freshCode();
      const before = (await world.audited('code.client_mismatch', 0)).length;
      await expect(world.token.redeemCode(redemption(code, other))).rejects.toMatchObject(invalidGrant);
      await expect(world.token.redeemCode(redemption(code))).resolves.toBeDefined();
      await expect(world.token.redeemCode(redemption(code, other))).rejects.toMatchObject(invalidGrant);
      await expect(world.token.redeemCode(redemption(code))).resolves.toBeDefined();
      const rows = await world.audited('code.client_mismatch', before + 2);
      expect(rows.at(-1)).toMatchObject({ outcome: 'failure', ipAddress: '203.0.113.9', ...partial(other) });
    },
  );

  function partial(other: object) {
    const clientId = 'clientId' in other ? other.clientId : 'acme-web';
    return { clientId, actor: { type: 'client', id: clientId } };
  }

  it('accepts only `token` as a caller', async () => {
    const code = await freshCode();
    await expect(world.gateway.redeemCode(redemption(code))).rejects.toThrow(/may not call/);
    await expect(world.token.begin({})).rejects.toThrow(/may not call/);
    await expect(world.token.endSession({})).rejects.toThrow(/may not call/);
  });
});

describe('proof of possession', () => {
  it.each([
    ['wrong', 'w'.repeat(43)],
    ['missing', ''],
    ['too short', 'v'.repeat(42)],
    ['too long', 'v'.repeat(129)],
    ['outside the alphabet', `${'v'.repeat(42)}!`],
    ['with a line break behind it', `${verifier}\n`],
  ])(
    'a verifier that is %s is refused and burns the code (RFC 7636 §4.6, CVE-2026-41213)',
    async (_w, codeVerifier) => {
      const code = await freshCode();
      const wrong = world.token.redeemCode(redemption(code, { codeVerifier }));
      await expect(wrong).rejects.toMatchObject(invalidGrant);
      await expect(world.token.redeemCode(redemption(code))).rejects.toMatchObject(invalidGrant);
    },
  );

  it('a code without a challenge is redeemed without a verifier, and refused with one (RFC 9700 §4.8.2)', async () => {
    await world.directory.changeApplication('acme-web', { pkceOptional: true });
    try {
      const without = () =>
        newPerson(world).signIn({ code_challenge: undefined, code_challenge_method: undefined });
      const { userGrant: grant } = await world.token.redeemCode(
        redemption(await without(), { codeVerifier: '' }),
      );
      expect(grant).toMatchObject({ clientId: 'acme-web', userId: 'acme-ada' });
      for (const codeVerifier of [verifier, 'short', 'malformed']) {
        const code = await without();
        const downgraded = world.token.redeemCode(redemption(code, { codeVerifier }));
        await expect(downgraded).rejects.toMatchObject(invalidGrant);
        const later = world.token.redeemCode(redemption(code, { codeVerifier: '' }));
        await expect(later).rejects.toMatchObject(invalidGrant);
      }
      const withChallenge = world.token.redeemCode(redemption(await freshCode(), { codeVerifier: '' }));
      await expect(withChallenge).rejects.toMatchObject(invalidGrant);
    } finally {
      await world.directory.changeApplication('acme-web', { pkceOptional: false });
    }
  });

  it('the challenge itself is not accepted as verifier (RFC 7636 §7.2)', async () => {
    const code = await freshCode();
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const wrong = world.token.redeemCode(redemption(code, { codeVerifier: challenge }));
    await expect(wrong).rejects.toMatchObject(invalidGrant);
  });

  it.each(['', 'https://app.example/cb/', 'https://app.example/other?a=1', 'https://APP.example/cb'])(
    'the redirect URI %j instead of the one of the request is refused and burns the code (RFC 6749 §4.1.3)',
    async (redirectUri) => {
      const code = await freshCode();
      const wrong = world.token.redeemCode(redemption(code, { redirectUri }));
      await expect(wrong).rejects.toMatchObject(invalidGrant);
      await expect(world.token.redeemCode(redemption(code))).rejects.toMatchObject(invalidGrant);
    },
  );

  it.each([{ codeVerifier: 'w'.repeat(43) }, { redirectUri: 'https://app.example/cb/' }])(
    'burns a code that was taken before as well, and leaves the right presentation to be seen as a replay (%j)',
    async (wrong) => {
      const code = await freshCode();
      const first = await world.token.redeemCode(redemption(code));
      expect(first).toMatchObject({ takenBefore: false, burnt: false });
      await expect(world.token.redeemCode(redemption(code, wrong))).rejects.toMatchObject(invalidGrant);
      const replayed = await world.token.redeemCode(redemption(code));
      expect(replayed).toEqual({ ...first, takenBefore: true, burnt: true });
    },
  );

  it.each([{ codeVerifier: 'w'.repeat(43) }, { redirectUri: 'https://app.example/cb/' }])(
    'tells of a second use by a client with a secret also where the presentation is wrong (%j, RFC 6749 §4.1.2)',
    async (wrong) => {
      const code = await freshCode();
      const confidential = true;
      const first = await world.token.redeemCode(redemption(code, { confidential }));
      const second = await world.token.redeemCode(redemption(code, { ...wrong, confidential }));
      expect(second).toEqual({ ...first, takenBefore: true, burnt: true });
    },
  );

  it('a failure is audited as code.pkce_failed with the start of the digest of the code', async () => {
    const code = await freshCode();
    await world.token.redeemCode(redemption(code, { codeVerifier: 'w'.repeat(43) })).catch(() => undefined);
    const grantId = createHash('sha256').update(code).digest('hex').slice(0, 8);
    const row = async (): Promise<unknown> =>
      (await world.audited('code.pkce_failed')).find((candidate) => candidate['grantId'] === grantId);
    await expect.poll(row).toMatchObject({ reason: 'wrong_verifier' });
  });
});

describe('secrets at rest', () => {
  it('neither the stores nor the audit hold a code, a cookie, a password or a verifier', async () => {
    const person = newPerson(world);
    const code = await person.signIn();
    await world.token.redeemCode(redemption(code));
    const interactionId = await person.interaction({ prompt: 'login' });
    await person.submit(interactionId, { password: `${password}!` });
    world.secrets.add(interactionId);
    await world.audited('code.issued');
    const { rows } = await world.database.query({
      name: 'test.everything',
      text: `SELECT s::text AS text FROM authorize.session AS s
        UNION ALL SELECT a::text FROM authorize.audit_event AS a`,
    });
    const redis = await everything();
    expect(redis).toContain('acme-web');
    const found = [...world.secrets].filter((secret) =>
      [JSON.stringify(rows), redis].some((text) => text.includes(secret)),
    );
    expect(found).toHaveLength(0);
  });

  async function everything(): Promise<string> {
    const dump = world.redis.script({
      name: 'test.dump',
      lua: `local prefix = string.sub(KEYS[1], 1, -2)
        local all = {}
        for _, key in ipairs(redis.call('KEYS', prefix .. '*')) do
          local kind = redis.call('TYPE', key).ok
          local value = ''
          if kind == 'string' then value = redis.call('GET', key)
          elseif kind == 'hash' then value = table.concat(redis.call('HGETALL', key), ' ')
          elseif kind == 'set' then value = table.concat(redis.call('SMEMBERS', key), ' ') end
          all[#all + 1] = key .. ' ' .. value
        end
        return all`,
    });
    return String(await dump(['x'], []));
  }
});
