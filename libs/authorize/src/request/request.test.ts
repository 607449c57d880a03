import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Status } from '@tessera/proto-gen/directory';
import { phases } from './request.ts';
import { challenge, createWorld, issuer, web } from '../testing/world.ts';
import type { World } from '../testing/world.ts';
import { newPerson } from '../testing/visitor.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.service.close());

type Difference = Record<string, string | undefined>;

async function refused(difference: Difference, code: string, message?: string): Promise<void> {
  const begun = newPerson(world).start(difference);
  await expect(begun).rejects.toMatchObject({ code, ...(message === undefined ? {} : { message }) });
}

describe('the log of a refused request', () => {
  it.each([
    [{ redirect_uri: 'https://evil.example/cb' }, web.clientId, 'redirect_uri', /not registered/],
    [{ code_challenge: undefined, code_challenge_method: undefined }, web.clientId, 'application', /PKCE/],
    [{ client_id: 'a-secret-in-the-wrong-field' }, 'unknown_client', 'application', /unknown client_id/],
    [{ response_type: 'token' }, undefined, 'parameters', /response_type=code/],
  ])('says for %j who was refused, where and why', async (difference, clientId, phase, reason) => {
    await expect(newPerson(world).start(difference)).rejects.toMatchObject({
      refusal: { clientId, phase, reason: expect.stringMatching(reason) as string },
    });
  });
});

describe('the order of the checks', () => {
  it('redirects errors only after client and redirect URI have been checked (RFC 9700 §4.11)', () => {
    const names = phases.map(({ name }) => name);
    const firstRedirect = phases.findIndex(({ failure }) => failure === 'redirect');
    for (const needed of ['parameters', 'application', 'redirect_uri']) {
      expect(names.indexOf(needed)).toBeLessThan(firstRedirect);
    }
    expect(names[firstRedirect]).toBe('response_mode');
    expect(phases.slice(firstRedirect).every(({ failure }) => failure === 'redirect')).toBe(true);
  });

  it.each(['client_id', 'redirect_uri', 'response_type', 'scope'])(
    'asks for %s first, before anything else is looked at (contract, GET /authorize)',
    async (name) => {
      const message = 'Missing required OAuth parameters.';
      const others = { response_type: 'token', code_challenge: undefined };
      await refused({ ...others, [name]: undefined }, 'invalid_request', message);
      await refused({ ...others, [name]: '' }, 'invalid_request', message);
    },
  );

  it('checks response_type before PKCE, and both before the client (contract, GET /authorize)', async () => {
    const nobody = { client_id: 'nobody' };
    await refused(
      { ...nobody, response_type: 'token', code_challenge: undefined },
      'unsupported_response_type',
      'Only response_type=code is supported.',
    );
    for (const name of ['code_challenge', 'code_challenge_method']) {
      await refused({ ...nobody, [name]: undefined }, 'invalid_request', 'Missing PKCE parameters.');
    }
    const without = { code_challenge: undefined, code_challenge_method: undefined };
    await refused({ ...nobody, ...without }, 'invalid_request', 'Missing PKCE parameters.');
    await refused(without, 'invalid_request', 'Missing PKCE parameters.');
  });

  it('accepts a request without PKCE from an application that declares it optional, but not half of it (RFC 7636 §4.4.1)', async () => {
    await world.directory.changeApplication('acme-web', { pkceOptional: true });
    try {
      const without = { code_challenge: undefined, code_challenge_method: undefined };
      await expect(newPerson(world).interaction(without)).resolves.not.toBe('');
      for (const name of ['code_challenge', 'code_challenge_method']) {
        await refused({ [name]: undefined }, 'invalid_request', 'Missing PKCE parameters.');
      }
      await refused({ code_challenge_method: 'plain' }, 'invalid_request');
    } finally {
      await world.directory.changeApplication('acme-web', { pkceOptional: false });
    }
  });

  it.each(['plain', 's256', 'S256 ', 'S512'])(
    'refuses the challenge method "%s" (RFC 9700 §2.1.1)',
    async (method) => refused({ code_challenge_method: method }, 'invalid_request'),
  );

  it.each([challenge.slice(1), `${challenge}A`, `${challenge.slice(1)}=`])(
    'refuses the challenge %s that is no S256 value (RFC 7636 §4.2)',
    async (value) => refused({ code_challenge: value }, 'invalid_request'),
  );

  it.each(['token', 'form_post.jwt', 'query.jwt', '"><script>'])(
    'refuses response_mode %s without a redirect',
    async (mode) => refused({ response_mode: mode }, 'invalid_request'),
  );
});

describe('client and redirect URI', () => {
  it('responds alike to an unknown and a disabled client, and never by redirect (RFC 6749 §4.1.2.1)', async () => {
    const unknown = { client_id: 'nobody', redirect_uri: 'https://evil.example/', scope: 'nonsense' };
    await refused(unknown, 'invalid_request', 'The client is not known.');
    await world.directory.changeApplication('acme-spa', { status: Status.DISABLED });
    await refused({ client_id: 'acme-spa' }, 'invalid_request', 'The client is not known.');
    await world.directory.changeApplication('acme-spa', { status: Status.ACTIVE });
    await world.directory.changeTenant('umbra', Status.DISABLED);
    await refused({ client_id: 'umbra-web' }, 'invalid_request', 'The client is not known.');
    await world.directory.changeTenant('umbra', Status.ACTIVE);
  });

  it.each([
    'https://app.example.evil.test/cb',
    'https://app.example@evil.test/cb',
    'https://app.example/cb/../x',
    'https://app.example/cb/..;/x',
    'https://app.example/cb/%2e%2e/x',
    'https://app.example/cb/',
    'https://app.example/cb//',
    'https://app.example/cb/.',
    'https://app.example/cb?',
    'https://app.example/cb#',
    'https://app.example/cb?a=1',
    'https://app.example/%63b',
    'https://app.example/%2563b',
    'https://app.example:443/cb',
    'https://app.example/CB',
    'HTTPS://APP.example/cb',
    'https://appxexample/cb',
    'https://*.example/cb',
    'https://app.example/*',
    'https://app.example\\cb',
    'https://app.example/cb ',
    ' https://app.example/cb',
    'https://app.example/cb\r\nSet-Cookie: a=b',
    'http://app.example/cb',
    'javascript:alert(1)',
    'https://app.example/other',
    'https://app.example/other?a=1&b=2',
    'https://spa.example/cb',
  ])(
    'compares the redirect URI byte for byte: %j is refused without a redirect (RFC 9700 §2.1)',
    async (uri) => {
      await refused(
        { redirect_uri: uri },
        'invalid_request',
        'The redirect_uri is not registered for this client.',
      );
    },
  );

  it('matches the beginning of a redirect URI where the client has one registered', async () => {
    const spa = 'https://spa.example/cb';
    await world.directory.changeApplication('acme-spa', {
      redirectUris: [],
      redirectUriPrefixes: ['https://spa.example/app/'],
    });
    const asked = { client_id: 'acme-spa', scope: 'openid' };
    await newPerson(world).start({ ...asked, redirect_uri: 'https://spa.example/app/orders/7' });
    for (const uri of [spa, 'https://spa.example/app/../cb', 'https://spa.example/app/?state=x'])
      await refused({ ...asked, redirect_uri: uri }, 'invalid_request');
    await refused(
      { ...asked, redirect_uri: 'https://spa.example/app/', code_challenge: undefined },
      'invalid_request',
    );
    await world.directory.changeApplication('acme-spa', { redirectUris: [spa], redirectUriPrefixes: [] });
  });

  it('rejects a client without registered redirect URIs', async () => {
    await world.directory.changeApplication('acme-spa', { redirectUris: [] });
    await refused({ client_id: 'acme-spa', redirect_uri: 'https://spa.example/cb' }, 'invalid_request');
    await world.directory.changeApplication('acme-spa', { redirectUris: ['https://spa.example/cb'] });
  });
});

describe('errors that are returned to the client', () => {
  it.each([
    ['request', 'eyJ', 'request_not_supported', 'OIDC Core §3.1.2.6'],
    ['request_uri', 'http://canary.example/', 'request_uri_not_supported', 'OIDC Core §3.1.2.6'],
    ['registration', '{}', 'registration_not_supported', 'OIDC Core §3.1.2.6'],
    ['scope', 'openid unknown.scope', 'invalid_scope', 'RFC 6749 §3.3'],
    ['scope', 'orders.read stock.read', 'invalid_scope', 'RFC 8707 §2.2'],
    ['resource', 'https://unknown.example', 'invalid_target', 'RFC 8707 §2'],
    ['prompt', 'none login', 'invalid_request', 'OIDC Core §3.1.2.1'],
    ['prompt', 'create', 'invalid_request', 'OIDC Core §3.1.2.1'],
    ['max_age', '-1', 'invalid_request', 'OIDC Core §3.1.2.1'],
    ['max_age', '1.5', 'invalid_request', 'OIDC Core §3.1.2.1'],
  ])('%s=%s goes back as %s, with state and iss (%s, RFC 9207 §2)', async (name, value, code) => {
    const answer = await newPerson(world).redirect({ [name]: value, state: 'a b&c="ä' });
    expect(answer.get('error')).toBe(code);
    expect(answer.get('error_description')).toMatch(/\.$/);
    expect(answer.get('state')).toBe('a b&c="ä');
    expect(answer.get('iss')).toBe(issuer);
    expect(answer.has('code')).toBe(false);
  });

  it.each(['state', 'nonce'])(
    '%s may have 8,192 characters, and more goes back as invalid_request (RFC 6749 §4.1.2.1)',
    async (name) => {
      await expect(newPerson(world).interaction({ [name]: 'é'.repeat(8192) })).resolves.not.toBe('');
      const answer = await newPerson(world).redirect({ [name]: 'x'.repeat(8193) });
      expect(answer.get('error')).toBe('invalid_request');
      expect(answer.get('error_description')).toBe(`The parameter ${name} has more than 8192 characters.`);
      expect(answer.get('state')).toBe(name === 'state' ? 'x'.repeat(8193) : 'xyz');
    },
  );

  it('takes surplus spaces in a scope (RFC 6749 §3.3)', async () => {
    await expect(newPerson(world).interaction({ scope: ' openid   profile ' })).resolves.not.toBe('');
  });

  it('rejects a client that may not use the grant before any other check (RFC 6749 §4.1.2.1)', async () => {
    const job = { client_id: 'acme-job', redirect_uri: 'https://job.example/cb' };
    const answer = await newPerson(world).redirect({ ...job, scope: 'nonsense' });
    expect(answer.get('error')).toBe('unauthorized_client');
    expect([answer.get('state'), answer.get('iss')]).toEqual(['xyz', issuer]);
  });

  it('keeps the query of the registered redirect URI and omits an absent state (RFC 6749 §3.1.2)', async () => {
    const redirectUri = 'https://app.example/other?a=1';
    const answer = await newPerson(world).start({ redirect_uri: redirectUri, scope: 'no', state: undefined });
    expect(answer.next.case).toBe('redirect');
    const location = answer.next.case === 'redirect' ? answer.next.value.location : '';
    expect(location.startsWith(`${redirectUri}&error=invalid_scope&`)).toBe(true);
    expect(new URL(location).searchParams.has('state')).toBe(false);
  });
});

describe('unavailability and audit', () => {
  it('reports that the service is unavailable if the directory is, never that a client is unknown', async () => {
    world.directory.unavailable = true;
    try {
      await refused({ client_id: 'never-seen' }, 'temporarily_unavailable');
    } finally {
      world.directory.unavailable = false;
    }
  });

  it('audits every rejection with its code, its phase and what was refused, without any other value of the request', async () => {
    const person = newPerson(world);
    const rowsOfPerson = async () =>
      (await world.audited('authorize.rejected', 0)).filter(
        ({ ipAddress }) => ipAddress === person.ipAddress,
      );
    await person.start({ client_id: 'nobody' }).catch(() => undefined);
    await person
      .start({ redirect_uri: 'https://user:canary@evil.example/cb?state=canary#canary' })
      .catch(() => undefined);
    await person.start({ scope: 'no.such', nonce: 'canary' });
    await expect.poll(async () => (await rowsOfPerson()).length).toBeGreaterThanOrEqual(3);
    const rows = await rowsOfPerson();
    const refusals = rows.map(({ reason, details, clientId }) => ({ reason, details, clientId }));
    expect(refusals).toHaveLength(3);
    expect(refusals).toEqual(
      expect.arrayContaining([
        { reason: 'invalid_request', details: { phase: 'application' }, clientId: undefined },
        {
          reason: 'invalid_request',
          details: {
            phase: 'redirect_uri',
            received: 'https://evil.example/cb?state=...',
            hint: expect.any(String) as string,
          },
          clientId: web.clientId,
        },
        { reason: 'invalid_scope', details: { phase: 'scope', received: 'no.such' }, clientId: web.clientId },
      ]),
    );
    expect(JSON.stringify(rows)).not.toContain('canary');
  });
});
