import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair } from 'jose';
import { assertionTypes } from '@tessera/oauth';
import type { Database } from '@tessera/stores';
import { counting, fakeClock, testDatabase, type FakeClock } from '@tessera/test-kit';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { migrations } from '../index.ts';
import { startFakeIssuer, type FakeIssuer, type Said } from '../testing/fake-issuer.ts';
import { call, startRecords } from '../testing/start-records.ts';
import { createAssertionRecords } from './assertion-records.postgres.ts';

const us = 'https://id.example';
const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const orders = 'system:serviceaccount:shop:orders';

let database: Database;
let issuer: FakeIssuer;
let another: CryptoKey;
beforeAll(async () => {
  database = await testDatabase(migrations);
  issuer = await startFakeIssuer();
  another = (await generateKeyPair('RS256')).privateKey;
});

type Given = Parameters<typeof startRecords>[1] & { readonly on?: Database };

/** A directory with one tenant, whose applications are given, of names that no other test has. */
async function world(applications: (id: string) => readonly object[], given: Given = {}) {
  const id = `t${Math.random().toString(36).slice(2)}`;
  const settings = { TESSERA_ALLOW_PRIVATE: 'issuers', ...given.settings };
  const { on = database, ...others } = given;
  const records = startRecords(on, { ...others, settings });
  const declared = applications(id).map((application) => ({
    type: 'confidential',
    name: 'Orders',
    grantTypes: ['client_credentials'],
    ...application,
  }));
  const document = JSON.stringify({ tenants: [{ id, name: id, applications: declared }] });
  await records.files.apply({ document }, call());
  const verify = async (assertion: string, more: object = {}) =>
    records.as('token').verifyClientAssertion(
      {
        assertion,
        assertionType: assertionTypes.private_key_jwt,
        issuer: us,
        ipAddress: '192.0.2.1',
        ...more,
      },
      call(),
    );
  return { id, records, verify };
}

const trusting = (trust: object) => (id: string) => [
  { clientId: `${id}-orders`, trusts: [{ issuer: issuer.issuer, ...trust }] },
];
let subjects = 0;
/** Trusts are unique over the deployment. */
const newSubject = () => `${orders}-${(subjects += 1)}`;

describe('a token of an issuer that an application trusts (RFC 7523 §3)', () => {
  it('proves to be the application, as often as it is sent until it expires, without a write and with one fetch', async () => {
    const subject = newSubject();
    const counted = counting(database);
    const { id, verify } = await world(trusting({ subject }), { on: counted });
    const token = await issuer.token({ claims: { sub: subject, aud: us } });
    const before = issuer.asked.length;
    const first = await verify(token);
    expect(first).toMatchObject({ clientId: `${id}-orders`, tenantId: id, refusal: '' });
    expect(Number(first.reusableUntilMs)).toBeGreaterThan(Date.now() + 3_500_000);
    expect(issuer.asked.slice(before)).toEqual(['/.well-known/openid-configuration', '/openid/v1/jwks']);
    counted.reset();
    for (const more of [{}, { clientId: `${id}-orders` }, { assertionType: grant }])
      expect((await verify(token, more)).refusal).toBe('');
    expect(issuer.asked.length).toBe(before + 2);
    expect(counted.names).toEqual(Array(3).fill('directory.find_trusting_applications'));
  });

  const now = () => Math.floor(Date.now() / 1000);
  type Wrong = readonly [string, (subject: string) => Said & { claims: object }, string];
  const wrong: readonly Wrong[] = [
    ['that has expired', (sub) => ({ claims: { sub, aud: us, exp: now() - 60 } }), 'assertion_expired'],
    ['without exp', (sub) => ({ claims: { sub, aud: us, exp: undefined } }), 'assertion_expired'],
    ['that is not valid yet', (sub) => ({ claims: { sub, aud: us, nbf: now() + 90 } }), 'assertion_early'],
    ['of another subject', () => ({ claims: { sub: orders, aud: us } }), 'assertion_trust'],
    [
      'of another issuer',
      (sub) => ({ claims: { sub, aud: us, iss: 'https://evil.example' } }),
      'assertion_trust',
    ],
    ['for somebody else', (sub) => ({ claims: { sub, aud: 'https://api.example' } }), 'assertion_audience'],
    [
      'for somebody else besides',
      (sub) => ({ claims: { sub, aud: [us, 'https://api.example'] } }),
      'assertion_audience',
    ],
    ['that is an ID token', (sub) => ({ claims: { sub, aud: us, nonce: 'n' } }), 'assertion_id_token'],
    ['that is a logout token', (sub) => ({ claims: { sub, aud: us, events: {} } }), 'assertion_id_token'],
    ...['Bearer', 'ID', 'Refresh'].map((typ): Wrong => [
      `whose claims have the typ ${typ}`,
      (sub) => ({ claims: { sub, aud: us, typ } }),
      'assertion_typ',
    ]),
    [
      'that is an access token',
      (sub) => ({ claims: { sub, aud: us }, header: { typ: 'at+jwt' } }),
      'assertion_typ',
    ],
    [
      'that names its key',
      (sub) => ({ claims: { sub, aud: us }, header: { jku: 'https://evil.example/keys' } }),
      'assertion_header',
    ],
    ['with another key', (sub) => ({ claims: { sub, aud: us }, key: another }), 'assertion_signature'],
    [
      'with an unknown key',
      (sub) => ({ claims: { sub, aud: us }, header: { kid: 'k' }, key: another }),
      'assertion_key',
    ],
    [
      'with a symmetric algorithm (RFC 8725 §2.1)',
      (sub) => ({ claims: { sub, aud: us }, header: { alg: 'HS256' }, key: new Uint8Array(32) }),
      'assertion_algorithm',
    ],
    [
      'that is older than maxAge',
      (sub) => ({ claims: { sub, aud: us, iat: now() - 700 } }),
      'assertion_too_old',
    ],
  ];
  it.each(wrong)('is refused %s', async (_, said, refusal) => {
    const subject = newSubject();
    const { id, verify } = await world(trusting({ subject, maxAge: '10m' }));
    const { clientId, refusal: answered, reusableUntilMs } = await verify(await issuer.token(said(subject)));
    expect([answered, reusableUntilMs]).toEqual([refusal, 0n]);
    expect(['', `${id}-orders`]).toContain(clientId);
  });

  it('is refused in part, without a signature, and beyond 16 KiB', async () => {
    const subject = newSubject();
    const { verify } = await world(trusting({ subject }));
    const token = await issuer.token({ claims: { sub: subject, aud: us } });
    const [header = '', claims = ''] = token.split('.');
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    for (const text of [`${header}.${claims}`, `${header}.${claims}.`, 'x.y.z', '[].[].[]', 'no token'])
      expect((await verify(text)).refusal).toBe('assertion_malformed');
    expect((await verify(`${none}.${claims}.AA`)).refusal).toBe('assertion_algorithm');
    const long = await issuer.token({ claims: { sub: subject, aud: us, more: 'x'.repeat(16_384) } });
    expect((await verify(long)).refusal).toBe('assertion_malformed');
  });

  it.each([
    ['U+0000', '\0'],
    ['half of a surrogate pair', '\ud800'],
  ])('is refused with %s in what is looked up', async (_, text) => {
    const subject = newSubject();
    const { verify } = await world(trusting({ subject }));
    const usual = { iss: issuer.issuer, sub: subject, aud: us };
    for (const name of ['iss', 'sub', 'aud']) {
      const claims = JSON.stringify({ ...usual, [name]: `a${text}` });
      const [header] = (await issuer.token({ claims: usual })).split('.');
      const assertion = `${header}.${Buffer.from(claims).toString('base64url')}.AA`;
      expect((await verify(assertion)).refusal).toBe('assertion_malformed');
    }
    const own = { iss: text, sub: text, aud: us };
    expect((await verify(await issuer.token({ claims: own }))).refusal).toBe('assertion_malformed');
  });

  it.each([
    ['a fraction', () => now() + 60.0001],
    ['beyond every date', () => 1e17],
    ['beyond every number', () => 1e306],
  ])('is taken with an exp that is %s', async (_, exp) => {
    const subject = newSubject();
    const { verify } = await world(trusting({ subject }));
    const said = await issuer.token({ claims: { sub: subject, aud: us, exp: exp() } });
    const { refusal, reusableUntilMs } = await verify(said);
    expect(refusal).toBe('');
    expect(reusableUntilMs).toBeGreaterThan(BigInt(Date.now()));
    expect(reusableUntilMs).toBeLessThanOrEqual(BigInt(Number.MAX_SAFE_INTEGER));
  });

  it('is found by the audience that the trust declares, and by the client_id that is sent besides', async () => {
    const subject = newSubject();
    const { id, verify } = await world((tenant) => [
      { clientId: `${tenant}-a`, trusts: [{ issuer: issuer.issuer, subject, audience: 'a' }] },
      { clientId: `${tenant}-b`, trusts: [{ issuer: issuer.issuer, subject }] },
    ]);
    const for_ = (aud: unknown) => issuer.token({ claims: { sub: subject, aud } });
    expect((await verify(await for_(['a']))).clientId).toBe(`${id}-a`);
    expect((await verify(await for_(us))).clientId).toBe(`${id}-b`);
    expect((await verify(await for_('c'))).refusal).toBe('assertion_audience');
    expect((await verify(await for_('a'), { clientId: `${id}-b` })).refusal).toBe('assertion_subject');
    expect((await verify(await for_('a'), { clientId: 'other' })).refusal).toBe('assertion_subject');
  });

  it('is that of the application at our issuer, whatever audience another one declares', async () => {
    const subject = newSubject();
    const own = `https://${subject.split(':').at(-1)}.example`;
    const trust = { issuer: issuer.issuer, subject };
    const victim = await world(trusting({ subject }));
    const attacker = await world(trusting({ ...trust, audience: own }));
    await victim.records.api.tenants.update(
      { tenantId: victim.id, updateMask: { paths: ['issuer'] }, tenant: { issuer: own }, takeOver: true },
      call(),
    );
    const token = await issuer.token({ claims: { sub: subject, aud: own } });
    const at = { issuer: own, tenantId: victim.id };
    expect(await victim.verify(token, at)).toMatchObject({ clientId: `${victim.id}-orders`, refusal: '' });
    const named = { ...at, clientId: `${attacker.id}-orders` };
    expect((await victim.verify(token, named)).refusal).toBe('assertion_subject');
  });

  it('is found beside a hundred trusts of its subject for other audiences', async () => {
    const subject = newSubject();
    const crowd = (of: number) =>
      Array.from({ length: 20 }, (_, at) => ({ issuer: issuer.issuer, subject, audience: `of ${of}-${at}` }));
    await world((id) =>
      Array.from({ length: 6 }, (_, of) => ({ clientId: `${id}-${of}`, trusts: crowd(of) })),
    );
    const { id, verify } = await world(trusting({ subject }));
    const token = await issuer.token({ claims: { sub: subject, aud: us } });
    expect(await verify(token)).toMatchObject({ clientId: `${id}-orders`, refusal: '' });
  });

  it('is refused of an issuer that became one of ours', async () => {
    const own = await startFakeIssuer();
    const subject = newSubject();
    const { verify } = await world((id) => [{ clientId: id, trusts: [{ issuer: own.issuer, subject }] }]);
    const token = await own.token({ claims: { sub: subject, aud: us } });
    expect((await verify(token)).refusal).toBe('');
    expect((await verify(token, { issuer: own.issuer })).refusal).toBe('assertion_trust');
    await database.query({
      name: 'test',
      text: `INSERT INTO directory.tenant (tenant_id, name, status, looks, issuer) VALUES ($1, $1, 'active', '{}', $2)`,
      values: [`ours${subjects}`, own.issuer],
    });
    expect((await verify(token)).refusal).toBe('assertion_trust');
  });

  it('follows new keys of its issuer, and asks again at most every ten seconds', async () => {
    const subject = newSubject();
    const own = await startFakeIssuer('ES256');
    const clock = fakeClock(Date.now());
    const { verify } = await world((id) => [{ clientId: id, trusts: [{ issuer: own.issuer, subject }] }], {
      clock,
    });
    const token = () => own.token({ claims: { sub: subject, aud: us } });
    expect((await verify(await token())).refusal).toBe('');
    await own.rotate();
    expect((await verify(await token())).refusal).toBe('assertion_key');
    expect(own.asked).toHaveLength(2);
    clock.advance(11_000);
    expect((await verify(await token())).refusal).toBe('');
    expect(own.asked).toHaveLength(4);
  });

  it('costs the clients of a silent issuer alone: 503 for them, at once once it has failed, and few wait', async () => {
    const [hanging, quick] = [newSubject(), newSubject()];
    const silent = await startFakeIssuer();
    silent.isSilent = true;
    const { id, verify } = await world((tenant) => [
      { clientId: `${tenant}-silent`, trusts: [{ issuer: silent.issuer, subject: hanging }] },
      { clientId: `${tenant}-quick`, trusts: [{ issuer: issuer.issuer, subject: quick }] },
    ]);
    const theirs = await silent.token({ claims: { sub: hanging, aud: us } });
    const ours = await issuer.token({ claims: { sub: quick, aud: us } });
    const unavailable = { code: 'temporarily_unavailable', refusal: { phase: 'waiting for others' } };
    const waiting = Array.from({ length: 100 }, () =>
      expect(verify(theirs)).rejects.toMatchObject(unavailable),
    );
    expect(await verify(ours)).toMatchObject({ clientId: `${id}-quick`, refusal: '' });
    await Promise.all(waiting);
    expect(silent.asked).toHaveLength(1);
    const began = Date.now();
    await expect(verify(theirs)).rejects.toMatchObject(unavailable);
    expect(Date.now() - began).toBeLessThan(1_000);
    expect(silent.asked).toHaveLength(1);
  });

  it('is not read with keys of more than 64 KiB', async () => {
    const subject = newSubject();
    const own = await startFakeIssuer();
    own.published = (document) => ({ ...document, more: 'x'.repeat(64 * 1024) });
    const { verify } = await world((id) => [{ clientId: id, trusts: [{ issuer: own.issuer, subject }] }]);
    const token = await own.token({ claims: { sub: subject, aud: us } });
    await expect(verify(token)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
  });

  it('is not asked for at private addresses unless the operator allows it', async () => {
    const subject = newSubject();
    const { verify } = await world(trusting({ subject }), { settings: { TESSERA_ALLOW_PRIVATE: '' } });
    const before = issuer.asked.length;
    const token = await issuer.token({ claims: { sub: subject, aud: us } });
    await expect(verify(token)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    expect(issuer.asked).toHaveLength(before);
  });
});

describe('keys from where the operator says', () => {
  async function folder(files: Readonly<Record<string, string>>): Promise<string> {
    const path = await mkdtemp(join(tmpdir(), 'keys-'));
    onTestFinished(() => rm(path, { recursive: true }));
    for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content);
    return path;
  }

  it('are read from a file', async () => {
    const subject = newSubject();
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    const jwk = { ...(await exportJWK(publicKey)), kid: 'file' };
    const path = await folder({ 'keys.json': JSON.stringify({ keys: [jwk] }) });
    const settings = {
      TESSERA_TRUSTED_ISSUER_KEYS: `https://ci.example=${path}/keys.json`,
      TESSERA_ALLOW_PRIVATE: '',
    };
    const { verify } = await world(
      (id) => [{ clientId: id, trusts: [{ issuer: 'https://ci.example', subject }] }],
      {
        settings,
      },
    );
    const claims = { iss: 'https://ci.example', sub: subject, aud: us };
    const token = await issuer.token({ claims, header: { alg: 'ES256', kid: 'file' }, key: privateKey });
    expect((await verify(token)).refusal).toBe('');
    await writeFile(join(path, 'keys.json'), 'no JSON');
    expect((await verify(token)).refusal).toBe('');
  });

  it('are those of the cluster for what it calls its issuer, asked with our own token and sent nowhere else', async () => {
    const subject = newSubject();
    const cluster = await startFakeIssuer();
    cluster.called = 'https://kubernetes.default.svc.cluster.local';
    const path = await folder({ token: 'our-own-token\n' });
    const settings = {
      TESSERA_KUBERNETES_API: cluster.issuer,
      TESSERA_KUBERNETES_CREDENTIALS: path,
      TESSERA_ALLOW_PRIVATE: '',
    };
    const { verify } = await world(
      (id) => [{ clientId: id, trusts: [{ issuer: cluster.called, subject }] }],
      {
        settings,
      },
    );
    await expect.poll(() => cluster.asked).toHaveLength(2);
    const token = await cluster.token({ claims: { iss: cluster.called, sub: subject, aud: [us] } });
    expect((await verify(token)).refusal).toBe('');
    expect(cluster.asked).toEqual([
      '/.well-known/openid-configuration Bearer our-own-token',
      '/openid/v1/jwks Bearer our-own-token',
    ]);
  });

  it('are those of the iss of a token, as on EKS, GKE and AKS, whatever the cluster is where we run', async () => {
    const subject = newSubject();
    const [here, elsewhere] = [await startFakeIssuer(), await startFakeIssuer()];
    here.called = 'https://kubernetes.default.svc.cluster.local';
    const settings = {
      TESSERA_KUBERNETES_API: here.issuer,
      TESSERA_KUBERNETES_CREDENTIALS: await folder({ token: 'our-own-token' }),
    };
    const { id, verify } = await world(
      (tenant) => [
        { clientId: `${tenant}-here`, trusts: [{ issuer: here.called, subject }] },
        { clientId: `${tenant}-eks`, trusts: [{ issuer: elsewhere.issuer, subject }] },
      ],
      { settings },
    );
    await expect.poll(() => here.asked).toHaveLength(2);
    const ofEks = await elsewhere.token({ claims: { sub: subject, aud: [us] } });
    expect(await verify(ofEks)).toMatchObject({ clientId: `${id}-eks`, refusal: '' });
    expect(elsewhere.asked).toEqual(['/.well-known/openid-configuration', '/openid/v1/jwks']);
    const ofHere = await here.token({ claims: { iss: here.called, sub: subject, aud: [us] } });
    expect(await verify(ofHere)).toMatchObject({ clientId: `${id}-here`, refusal: '' });
    // The same account in another cluster is somebody else, and so is a key.
    const mixed = await here.token({ claims: { iss: elsewhere.issuer, sub: subject, aud: [us] } });
    expect((await verify(mixed)).refusal).toMatch(/^assertion_(signature|key)$/);
    expect(here.asked).toHaveLength(2);
  });

  it('are asked by a TokenReview whether a pod is gone, if the operator wants it, and for no other issuer', async () => {
    const [ofCluster, ofOther] = [newSubject(), newSubject()];
    const cluster = await startFakeIssuer();
    cluster.called = 'https://kubernetes.default.svc.cluster.local';
    const settings = {
      TESSERA_KUBERNETES_API: cluster.issuer,
      TESSERA_KUBERNETES_CREDENTIALS: await folder({ token: 'our-own-token\n' }),
      TESSERA_KUBERNETES_TOKEN_REVIEW: 'true',
    };
    const { verify } = await world(
      (id) => [
        { clientId: id, trusts: [{ issuer: cluster.called, subject: ofCluster }] },
        { clientId: `${id}-other`, trusts: [{ issuer: issuer.issuer, subject: ofOther }] },
      ],
      { settings },
    );
    await expect.poll(() => cluster.asked).toHaveLength(2);
    const token = await cluster.token({ claims: { iss: cluster.called, sub: ofCluster, aud: [us] } });
    const reviewed: unknown[] = [];
    const answering = (status: object) =>
      (cluster.reviewed = (review) => {
        reviewed.push(review);
        return { status };
      });
    const right = { authenticated: true, user: { username: ofCluster }, audiences: [us] };
    answering(right);
    const { refusal, reusableUntilMs } = await verify(token);
    expect([refusal, Number(reusableUntilMs) <= Date.now() + 60_000]).toEqual(['', true]);
    expect(reviewed).toMatchObject([{ kind: 'TokenReview', spec: { token, audiences: [us] } }]);
    expect(cluster.asked.at(-1)).toBe('/apis/authentication.k8s.io/v1/tokenreviews Bearer our-own-token');
    for (const wrong of [
      { ...right, authenticated: false },
      { ...right, user: { username: 'system:serviceaccount:shop:other' } },
      { ...right, audiences: ['https://api.example'] },
      {},
    ]) {
      answering(wrong);
      expect((await verify(token)).refusal).toBe('assertion_gone');
    }
    cluster.reviewed = undefined;
    await expect(verify(token)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    const forged = await cluster.token({
      claims: { iss: cluster.called, sub: ofCluster, aud: us },
      key: another,
    });
    expect((await verify(forged)).refusal).toBe('assertion_signature');
    expect((await verify(await issuer.token({ claims: { sub: ofOther, aud: us } }))).refusal).toBe('');
    expect(reviewed).toHaveLength(5);
  });
});

describe('keys that an application has at an address of its own', () => {
  /** An assertion that an application signs itself. */
  async function selfSigned(clientId: string, jti: string) {
    const { publicKey, privateKey } = await generateKeyPair('RS256');
    const claims = { iss: clientId, sub: clientId, aud: us, exp: Math.floor(Date.now() / 1000) + 60, jti };
    const header = { kid: 'planted' };
    return {
      jwk: { ...(await exportJWK(publicKey)), ...header },
      assertion: await issuer.token({ claims, header, key: privateKey }),
      sign: (others: object) => issuer.token({ claims: { ...others }, header, key: privateKey }),
    };
  }

  it('are never those of an issuer whose name is that address', async () => {
    const subject = newSubject();
    const own = await startFakeIssuer();
    const { id, verify } = await world((tenant) => [
      { clientId: `${tenant}-victim`, trusts: [{ issuer: own.issuer, subject }] },
      { clientId: tenant, jwksUri: own.issuer },
    ]);
    const planted = await selfSigned(id, 'first');
    own.atRoot = { keys: [planted.jwk] };
    expect((await verify(planted.assertion)).refusal).toBe('');
    const forged = await planted.sign({ iss: own.issuer, sub: subject, aud: us });
    expect((await verify(forged)).refusal).toBe('assertion_key');
    const right = await own.token({ claims: { sub: subject, aud: us } });
    expect((await verify(right)).refusal).toBe('');
  });

  it('do not hold up the cluster if its address is theirs', async () => {
    const subject = newSubject();
    const clock = fakeClock(Date.now());
    const cluster = await startFakeIssuer();
    cluster.called = 'https://kubernetes.default.svc.cluster.local';
    const path = await mkdtemp(join(tmpdir(), 'keys-'));
    onTestFinished(() => rm(path, { recursive: true }));
    await writeFile(join(path, 'token'), 'our-own-token');
    const settings = { TESSERA_KUBERNETES_API: cluster.issuer, TESSERA_KUBERNETES_CREDENTIALS: path };
    const { id, verify } = await world(
      (tenant) => [
        { clientId: `${tenant}-victim`, trusts: [{ issuer: cluster.called, subject }] },
        { clientId: tenant, jwksUri: cluster.issuer },
      ],
      { settings, clock },
    );
    await expect.poll(() => cluster.asked).toHaveLength(2);
    const token = () => cluster.token({ claims: { iss: cluster.called, sub: subject, aud: us } });
    await expect.poll(async () => (await verify(await token())).refusal).toBe('');
    clock.advance(11_000);
    const { assertion } = await selfSigned(id, 'first');
    await expect(verify(assertion)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    await cluster.rotate();
    expect((await verify(await token())).refusal).toBe('');
  });
});

describe('a JWT-SVID (draft-ietf-oauth-spiffe-client-auth, JWT-SVID §3)', () => {
  async function spiffeWorld(published: FakeIssuer['published'], clock?: FakeClock) {
    const domain = `spiffe://d${(subjects += 1)}.example`;
    const bundle = await startFakeIssuer('ES256');
    bundle.published = published;
    const settings = {
      TESSERA_TRUSTED_ISSUER_KEYS: `${domain}=${bundle.issuer}/openid/v1/jwks`,
      TESSERA_ALLOW_PRIVATE: '',
    };
    const subject = `${domain}/ns/shop/sa/orders`;
    const made = await world((id) => [{ clientId: id, trusts: [{ issuer: domain, subject }] }], {
      settings,
      ...(clock && { clock }),
    });
    const verify = async (said: Said & { claims: object }, more: object = {}) => {
      const usual = { iss: undefined, sub: subject, aud: [us], iat: undefined };
      const token = await bundle.token({ ...said, claims: { ...usual, ...said.claims } });
      return (await made.verify(token, { assertionType: assertionTypes.spiffe_jwt, ...more })).refusal;
    };
    return { bundle, verify, domain, made, subject };
  }
  const asJwtSvid: FakeIssuer['published'] = ({ keys }) => ({
    keys: keys.map(({ alg: _, ...key }) => ({ ...key, use: 'jwt-svid' })),
  });

  it('needs neither iss, jti and iat nor an alg of the key, and is taken as a grant too', async () => {
    const { verify } = await spiffeWorld(asJwtSvid);
    expect(await verify({ claims: {} })).toBe('');
    expect(await verify({ claims: {} }, { assertionType: grant })).toBe('');
    expect(await verify({ claims: { iss: 'https://spire.example' } })).toBe('');
  });

  it('is that of its trust domain as a grant, whoever trusts its iss', async () => {
    const { bundle, made, subject } = await spiffeWorld(asJwtSvid);
    await world((id) => [{ clientId: id, trusts: [{ issuer: bundle.issuer, subject }] }]);
    const token = await bundle.token({ claims: { sub: subject, aud: us } });
    expect(await made.verify(token, { assertionType: grant })).toMatchObject({
      clientId: made.id,
      refusal: '',
    });
  });

  it('is verified with the last good bundle through an outage, until its age limit, and with new keys as its hint says', async () => {
    const clock = fakeClock(Date.now());
    const hinted: FakeIssuer['published'] = (document) => ({
      ...asJwtSvid(document),
      spiffe_refresh_hint: 60,
    });
    const { bundle, verify } = await spiffeWorld(hinted, clock);
    const month = { claims: { exp: Math.floor(Date.now() / 1000) + 30 * 86_400 } };
    expect(await verify(month)).toBe('');
    bundle.published = () => ({});
    clock.advance(23 * 3_600_000);
    expect(await verify(month)).toBe('');
    await expect.poll(() => bundle.asked.length).toBe(2);
    clock.advance(2 * 3_600_000);
    await expect(verify(month)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    bundle.published = hinted;
    clock.advance(6_000);
    expect(await verify(month)).toBe('');
    clock.advance(61_000);
    expect(await verify(month)).toBe('');
    await expect.poll(() => bundle.asked.length).toBe(5);
  });

  it('is refused without kid, for others besides us, of another trust domain, and of another type', async () => {
    const { verify, domain } = await spiffeWorld(asJwtSvid);
    expect(await verify({ claims: {}, header: { kid: undefined } })).toBe('assertion_spiffe');
    expect(await verify({ claims: { aud: [us, 'https://api.example'] } })).toBe('assertion_audience');
    expect(await verify({ claims: { sub: 'spiffe://other.example/ns/shop/sa/orders' } })).toBe(
      'assertion_trust',
    );
    expect(await verify({ claims: { sub: `${domain}/ns/../orders` } })).toBe('assertion_spiffe');
    expect(await verify({ claims: { sub: orders } })).toBe('assertion_spiffe');
    expect(await verify({ claims: {} }, { assertionType: assertionTypes.private_key_jwt })).toBe(
      'assertion_trust',
    );
  });

  it.each([
    ['of another use', { use: 'x509-svid' }],
    ['of no use', { use: undefined }],
    ['without a kid', { use: 'jwt-svid', kid: undefined }],
  ])('is not verified with a key %s', async (_, members) => {
    const { verify } = await spiffeWorld(({ keys }) => ({
      keys: keys.map((key) => ({ ...key, ...members })),
    }));
    expect(await verify({ claims: {} })).toBe('assertion_key');
  });
});

describe('an assertion that an application signs itself (RFC 7523 §2.2, private_key_jwt)', () => {
  async function signing(keys: 'inline' | 'jwksUri' | 'none' = 'inline') {
    const own = await startFakeIssuer('ES256');
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    const jwk = { ...(await exportJWK(publicKey)), kid: 'own' };
    const made = await world((id) => [
      {
        clientId: id,
        ...(keys === 'none' && { secrets: [{ value: 'a secret of the application, which is long' }] }),
        ...(keys === 'inline' && { publicKeys: [jwk] }),
        ...(keys === 'jwksUri' && { jwksUri: `${own.issuer}/openid/v1/jwks` }),
      },
    ]);
    let ids = 0;
    const assertion = (claims: object = {}) => {
      const exp = Math.floor(Date.now() / 1000) + 60;
      const usual = { iss: made.id, sub: made.id, aud: us, exp, jti: `id-${(ids += 1)}` };
      const signer = keys === 'inline' ? { header: { kid: 'own' }, key: privateKey } : {};
      return own.token({ ...signer, claims: { ...usual, ...claims } });
    };
    return { ...made, own, assertion };
  }

  it.each(['inline', 'jwksUri'] as const)(
    'counts once, also if many send it at once; keys: %s',
    async (keys) => {
      const { id, verify, assertion } = await signing(keys);
      const once = await assertion();
      const answers = await Promise.all(Array.from({ length: 8 }, () => verify(once)));
      expect(answers.map(({ refusal }) => refusal).toSorted()).toEqual([
        '',
        ...Array(7).fill('assertion_replayed'),
      ]);
      expect(
        answers.every(({ clientId, reusableUntilMs }) => clientId === id && reusableUntilMs === 0n),
      ).toBe(true);
      expect((await verify(await assertion())).refusal).toBe('');
    },
  );

  it.each([
    ['for the token endpoint', { aud: `${us}/token` }, 'assertion_audience'],
    ['with a list as its audience', { aud: [us] }, 'assertion_audience'],
    ['without jti', { jti: undefined }, 'assertion_no_jti'],
    ['for longer than an hour', { exp: Math.floor(Date.now() / 1000) + 7_200 }, 'assertion_too_long'],
    ['of an unknown client', { iss: 'nobody', sub: 'nobody' }, 'assertion_trust'],
  ])('is refused %s', async (_, claims, refusal) => {
    const { verify, assertion } = await signing();
    expect((await verify(await assertion(claims))).refusal).toBe(refusal);
  });

  it('is refused of an application without keys, for another client_id, and as a grant', async () => {
    const without = await signing('none');
    expect((await without.verify(await without.assertion())).refusal).toBe('assertion_key');
    const { verify, assertion } = await signing();
    expect((await verify(await assertion(), { clientId: 'other' })).refusal).toBe('assertion_subject');
    expect((await verify(await assertion(), { assertionType: grant })).refusal).toBe('assertion_trust');
  });

  it('uses nothing up if the application may not be used', async () => {
    const { id, verify, assertion, records } = await signing();
    const change = { tenantId: id, updateMask: { paths: ['status'] }, takeOver: true };
    const set = (status: string) =>
      records.api.applications.update({ ...change, application: { clientId: id, status } }, call());
    await set('disabled');
    const once = await assertion();
    expect((await verify(once)).clientId).toBe(id);
    expect((await verify(once, { tenantId: 'elsewhere', issuer: us })).refusal).toBe('');
    await set('active');
    expect((await verify(once)).refusal).toBe('');
    expect((await verify(once)).refusal).toBe('assertion_replayed');
  });

  it('is remembered until it has expired by any clock that is right', async () => {
    const records = createAssertionRecords(await testDatabase(migrations));
    const now = Math.floor(Date.now() / 1000);
    expect(await records.use('one', 'jti', now - 120)).toBe(true);
    expect(await records.use('one', 'later', now + 10)).toBe(true);
    expect(await records.use('one', 'jti', now - 120)).toBe(false);
    expect(await records.use('two', 'jti', now + 10)).toBe(true);
    expect(await records.purge(10)).toBe(1);
    expect(await records.use('one', 'jti', now + 10)).toBe(true);
    expect(await records.use('one', 'later', now + 10)).toBe(false);
  });
});
