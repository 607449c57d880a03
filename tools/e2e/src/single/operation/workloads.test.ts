import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientCredentials } from '@tessera/introspection-client';
import { newDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { freePort } from '@tessera/test-kit/provision';
import { claimsOf, dialects, postToken, tokensOf, type Answer, type Dialect } from '@tessera/test-client';
import * as openid from 'openid-client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ordersAudience, secrets, type StateOptions } from '../../harness/declared-state.ts';
import { firstOf, setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';
import { startWorkloadIssuer, type WorkloadIssuer } from '../../harness/workload-issuer.ts';

const sub = 'system:serviceaccount:shop:orders';
const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const grant = { contract: 'jwt_bearer', standard: 'urn:ietf:params:oauth:grant-type:jwt-bearer' };
const key = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const basic = `Basic ${Buffer.from(`acme-service:${secrets.service}`).toString('base64')}`;

describe.each([...firstOf(setUps['split-mtls'], setUps.compact)])(
  'workloads without a secret: $name',
  (setUp) => {
    let system: System;
    let issuer: WorkloadIssuer;
    let state: StateOptions;

    beforeAll(async () => {
      issuer = await startWorkloadIssuer(await freePort());
      const stores = { databaseUrl: await newDatabaseUrl(), redisUrl: redisUrl() };
      const environment = { TESSERA_ALLOW_PRIVATE: 'issuers' };
      system = await startSystem(setUp, { stores, environment });
      const usual = { type: 'confidential', scopes: ['orders.read'] };
      const trusting = {
        ...usual,
        clientId: 'acme-workload',
        name: 'Workload',
        trusts: [{ issuer: issuer.issuer, subject: sub }],
      };
      const signing = {
        ...usual,
        clientId: 'acme-signing',
        name: 'Signing',
        grantTypes: ['client_credentials'],
      };
      state = {
        workloads: [
          { ...trusting, grantTypes: ['client_credentials', 'jwt_bearer'] },
          { ...signing, publicKeys: [{ ...key.publicKey.export({ format: 'jwk' }), kid: 'own' }] },
        ],
      };
    });
    afterAll(async () => {
      await system?.stop();
      await issuer?.stop();
    });

    const token = (claims: object = {}, signer?: Parameters<WorkloadIssuer['token']>[1]) =>
      issuer.token({ sub, aud: system.baseUrl, ...claims }, signer);
    const authenticated = (dialect: Dialect, clientAssertion: string, more: Record<string, string> = {}) =>
      postToken(system.http, dialect, {
        grantType: 'client_credentials',
        clientAssertion,
        clientAssertionType: type,
        ...more,
      });
    const errorOf = (answer: Answer) => [answer.status, answer.json()['error']];

    it('changes nothing that the shared issuer announces to other tenants', async () => {
      const paths = ['openid-configuration', 'oauth-authorization-server'];
      const documents = async () =>
        Promise.all(paths.map(async (path) => (await system.http.ask('GET', `/.well-known/${path}`)).json()));
      const before = await documents();
      expect(JSON.stringify(before[0])).not.toMatch(
        /private_key_jwt|jwt-bearer|jwt_bearer|signing_alg_values_supported":\["RS256","/,
      );
      expect(before[1]?.['token_endpoint_auth_methods_supported']).toContain('private_key_jwt');
      expect(errorOf(await authenticated('standard', token()))).toEqual([401, 'invalid_client']);
      await system.apply(state);
      await expect
        .poll(async () => (await authenticated('standard', token())).status, { timeout: 5_000 })
        .toBe(200);
      expect(await documents()).toEqual(before);
    });

    it.each(dialects)(
      'gets a token by a token of its platform, again and again with one fetch: %s',
      async (dialect) => {
        const assertion = token();
        const { accessToken } = tokensOf(await authenticated(dialect, assertion));
        expect(claimsOf(accessToken)).toMatchObject({
          sub: 'acme-workload',
          aud: ordersAudience,
          client_id: 'acme-workload',
        });
        const fetches = issuer.fetches();
        for (let time = 0; time < 3; time += 1)
          tokensOf(await authenticated(dialect, assertion, { clientId: 'acme-workload' }));
        tokensOf(await postToken(system.http, dialect, { grantType: grant[dialect], assertion }));
        tokensOf(await authenticated(dialect, token({ jti: 'another' })));
        expect(issuer.fetches()).toBe(fetches);
      },
    );

    it.each(dialects)('is refused alike whatever is wrong: %s', async (dialect) => {
      const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
      const wrong = [
        token({ aud: 'x' }),
        token({ sub: 'x' }),
        token({ exp: 1 }),
        token({ nonce: 'n' }),
        token({}, other),
        'x',
      ];
      const answers = await Promise.all(wrong.map((assertion) => authenticated(dialect, assertion)));
      const [first, ...others] = answers.map((answer) => [answer.status, answer.text]);
      expect(errorOf(answers[0] as Answer)).toEqual([401, 'invalid_client']);
      for (const one of others) expect(one).toEqual(first);
      const granted = postToken(system.http, dialect, {
        grantType: grant[dialect],
        assertion: token({ aud: 'x' }),
      });
      expect(errorOf(await granted)).toEqual([400, 'invalid_grant']);
    });

    it.each(dialects)('may send no secret, no header and no long assertion besides: %s', async (dialect) => {
      const secret = { clientId: 'acme-service', clientSecret: secrets.service };
      expect(errorOf(await authenticated(dialect, token(), secret))).toEqual([400, 'invalid_request']);
      expect(errorOf(await authenticated(dialect, token({ more: 'x'.repeat(16_384) })))).toEqual([
        400,
        'invalid_request',
      ]);
      expect(errorOf(await authenticated(dialect, token(), { clientAssertionType: 'other' }))).toEqual([
        400,
        'invalid_request',
      ]);
      const form = {
        grant_type: 'client_credentials',
        client_assertion: token(),
        client_assertion_type: type,
      };
      const answer = await system.http.ask('POST', '/token', { form, headers: { authorization: basic } });
      expect(errorOf(answer)).toEqual([400, 'invalid_request']);
    });

    it('authenticates for introspection and revocation too (RFC 7662 §2.1, RFC 7009 §2.1)', async () => {
      const { accessToken } = tokensOf(await authenticated('standard', token()));
      const form = { token: accessToken, client_assertion: token(), client_assertion_type: type };
      expect((await system.http.ask('POST', '/introspect', { form })).json()).toMatchObject({ active: true });
      const none = { ...form, token: 'tr_unknown' };
      expect((await system.http.ask('POST', '/revoke', { form: none })).status).toBe(200);
      const wrong = { ...form, client_assertion: token({ aud: 'x' }) };
      expect(errorOf(await system.http.ask('POST', '/revoke', { form: wrong }))).toEqual([
        401,
        'invalid_client',
      ]);
    });

    it('is openid-client with PrivateKeyJwt, unmodified, and each of its assertions counts once', async () => {
      const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
      const pkcs8 = key.privateKey.export({ format: 'der', type: 'pkcs8' });
      const signer = await crypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign']);
      const sent: string[] = [];
      const config = await openid.discovery(
        new URL(system.baseUrl),
        'acme-signing',
        undefined,
        openid.PrivateKeyJwt({ key: signer, kid: 'own' }),
        { execute: [openid.allowInsecureRequests] },
      );
      config[openid.customFetch] = async (url, options) => {
        if (options.body instanceof URLSearchParams) sent.push(options.body.toString());
        return fetch(url, options as RequestInit);
      };
      const tokens = await openid.clientCredentialsGrant(config, { scope: 'orders.read' });
      expect(claimsOf(tokens.access_token)).toMatchObject({ sub: 'acme-signing' });
      await openid.clientCredentialsGrant(config, { scope: 'orders.read' });
      const form = Object.fromEntries(new URLSearchParams(sent[0]));
      expect(errorOf(await system.http.ask('POST', '/token', { form }))).toEqual([401, 'invalid_client']);
    });

    it('is the client for Node with a token file, which it reads again when it changes', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'tessera-token-'));
      onTestFinished(async () => rm(folder, { recursive: true }));
      const tokenFile = join(folder, 'token');
      const source = clientCredentials({
        tokenEndpoint: `${system.baseUrl}/token`,
        tokenFile,
        scope: 'orders.read',
      });
      await writeFile(tokenFile, token({ aud: 'x' }));
      await expect(Promise.resolve(source(false))).rejects.toThrow('status 401');
      await writeFile(tokenFile, `${token()}\n`);
      expect(claimsOf(await source(false))).toMatchObject({ sub: 'acme-workload' });
    });

    it('ends within a second when its application is disabled', async () => {
      const assertion = token();
      tokensOf(await authenticated('standard', assertion));
      const [workload, ...others] = state.workloads ?? [];
      await system.apply({ workloads: [{ ...workload, status: 'disabled' }, ...others] });
      await expect
        .poll(async () => (await authenticated('standard', assertion)).status, { timeout: 1_500 })
        .toBe(401);
      await system.apply({ workloads: [{ ...workload, status: 'active' }, ...others] });
      await expect
        .poll(async () => (await authenticated('standard', assertion)).status, { timeout: 1_500 })
        .toBe(200);
    });
  },
);
