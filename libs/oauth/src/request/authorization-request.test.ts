import { describe, expect, it } from 'vitest';
import {
  checkAuthorizationParameters,
  checkParameterLengths,
  missingPkce,
  checkUnsupportedParameters,
  parameter,
  parseMaxAge,
  promptValues,
} from './authorization-request.ts';
import { OAuthError } from '../errors.ts';

const complete = {
  client_id: 'acme-web',
  redirect_uri: 'https://app.example/cb',
  response_type: 'code',
  scope: 'openid',
  state: 'xyz',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
};

function failure(work: () => unknown): { code: string; message: string; status: number } | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    return { code: error.code, message: error.message, status: error.status };
  }
}

function invalidRequest(message: string) {
  return { code: 'invalid_request', message, status: 400 };
}

describe('checkAuthorizationParameters (RFC 6749 §4.1.1, RFC 7636 §4.3)', () => {
  const request = {
    clientId: 'acme-web',
    redirectUri: 'https://app.example/cb',
    responseMode: 'query',
    scope: 'openid',
    state: 'xyz',
    codeChallenge: complete.code_challenge,
    nonce: undefined,
    loginHint: undefined,
    uiLocales: '',
    resource: '',
  };

  it('reads a record and a map.', () => {
    expect(checkAuthorizationParameters(complete)).toEqual(request);
    expect(checkAuthorizationParameters(new Map(Object.entries(complete)))).toEqual(request);
  });

  it('reads the optional parameters, and ignores those it does not know (§3.1).', () => {
    const more = {
      nonce: 'n',
      login_hint: 'ada',
      ui_locales: 'de en',
      resource: 'https://orders.example',
      response_mode: 'form_post',
      x: 'y',
    };
    expect(checkAuthorizationParameters({ ...complete, ...more })).toEqual({
      ...request,
      responseMode: 'form_post',
      nonce: 'n',
      loginHint: 'ada',
      uiLocales: 'de en',
      resource: 'https://orders.example',
    });
  });

  it.each(['client_id', 'redirect_uri', 'response_type', 'scope'])(
    'answers a missing or empty %s with the message of the contract.',
    (name) => {
      const { [name]: _left, ...others }: Record<string, string> = complete;
      const expected = invalidRequest('Missing required OAuth parameters.');
      expect(failure(() => checkAuthorizationParameters(others))).toEqual(expected);
      expect(failure(() => checkAuthorizationParameters({ ...complete, [name]: '' }))).toEqual(expected);
    },
  );

  it.each(['token', 'id_token', 'code id_token', 'CODE', 'code '])('refuses response_type %j.', (value) => {
    expect(failure(() => checkAuthorizationParameters({ ...complete, response_type: value }))).toEqual({
      code: 'unsupported_response_type',
      message: 'Only response_type=code is supported.',
      status: 400,
    });
  });

  it.each(['code_challenge', 'code_challenge_method'])(
    'answers a missing or empty %s with the message of the contract.',
    (name) => {
      const { [name]: _left, ...others }: Record<string, string> = complete;
      const expected = invalidRequest('Missing PKCE parameters.');
      expect(failure(() => checkAuthorizationParameters(others))).toEqual(expected);
      expect(failure(() => checkAuthorizationParameters({ ...complete, [name]: '' }))).toEqual(expected);
    },
  );

  it('leaves the challenge empty if both parameters are absent: the application decides.', () => {
    const without = { ...complete, code_challenge: '', code_challenge_method: '' };
    expect(checkAuthorizationParameters(without).codeChallenge).toBe('');
    expect(missingPkce()).toMatchObject({ code: 'invalid_request', message: 'Missing PKCE parameters.' });
  });

  it.each(['plain', 's256', 'S256 ', 'S512'])(
    'refuses code_challenge_method %j (RFC 9700 §2.1.1).',
    (value) => {
      expect(
        failure(() => checkAuthorizationParameters({ ...complete, code_challenge_method: value })),
      ).toEqual(invalidRequest('Only code_challenge_method=S256 is supported.'));
    },
  );

  it.each(['short', `${complete.code_challenge}=`, complete.code_challenge.replace('-', '+')])(
    'refuses the malformed challenge %j.',
    (value) => {
      expect(failure(() => checkAuthorizationParameters({ ...complete, code_challenge: value }))).toEqual(
        invalidRequest('The code_challenge must be 43 characters of base64url.'),
      );
    },
  );

  it.each(['query.jwt', 'form_post.jwt', '"><script>'])('refuses response_mode %j.', (value) => {
    expect(failure(() => checkAuthorizationParameters({ ...complete, response_mode: value }))).toEqual(
      invalidRequest('Only the response modes query, fragment and form_post are supported.'),
    );
  });

  it('reports the error that the contract lists first if several things are wrong.', () => {
    expect(failure(() => checkAuthorizationParameters({ response_type: 'token' }))?.message).toBe(
      'Missing required OAuth parameters.',
    );
    const { code_challenge: _left, ...others } = complete;
    expect(failure(() => checkAuthorizationParameters({ ...others, response_type: 'token' }))?.message).toBe(
      'Only response_type=code is supported.',
    );
  });

  it.each([
    ['client_id', 128],
    ['redirect_uri', 2048],
    ['scope', 4096],
    ['state', 8192],
    ['nonce', 8192],
    ['login_hint', 512],
    ['resource', 2048],
    ['prompt', 64],
    ['max_age', 16],
  ])(
    'bounds %s to %i characters, because it is kept while a person signs in (DOS-6, DOS-8).',
    (name, longest) => {
      const at = (length: number) =>
        failure(() => {
          const parameters = { ...complete, [name]: 'x'.repeat(length) };
          checkAuthorizationParameters(parameters);
          checkParameterLengths(parameters);
        });
      expect(at(longest)).toBeUndefined();
      expect(at(longest + 1)).toEqual(
        invalidRequest(`The parameter ${name} has more than ${longest} characters.`),
      );
    },
  );

  it('does not find parameters on the prototype of a record.', () => {
    expect(parameter({}, 'constructor')).toBeUndefined();
    expect(parameter({}, '__proto__')).toBeUndefined();
  });
});

describe('checkUnsupportedParameters (OIDC Core §3.1.2.6)', () => {
  it.each([
    ['request', 'request_not_supported'],
    ['request_uri', 'request_uri_not_supported'],
    ['registration', 'registration_not_supported'],
  ])('answers %s with %s.', (name, code) => {
    expect(failure(() => checkUnsupportedParameters({ ...complete, [name]: 'x' }))?.code).toBe(code);
  });

  it('accepts a request without them.', () => {
    expect(failure(() => checkUnsupportedParameters({ ...complete, request: '' }))).toBeUndefined();
  });
});

describe('prompt and max_age (OIDC Core §3.1.2.1)', () => {
  it('reads the defined prompt values.', () => {
    expect(promptValues(undefined).size).toBe(0);
    expect(promptValues('').size).toBe(0);
    expect([...promptValues('login consent')]).toEqual(['login', 'consent']);
    expect([...promptValues('none')]).toEqual(['none']);
  });

  it.each(['none login', 'create', 'login  consent', 'LOGIN'])('refuses the prompt %j.', (prompt) => {
    expect(failure(() => promptValues(prompt))?.code).toBe('invalid_request');
  });

  it('reads max_age as seconds, zero included.', () => {
    expect(parseMaxAge(undefined)).toBeUndefined();
    expect(parseMaxAge('')).toBeUndefined();
    expect(parseMaxAge('0')).toBe(0);
    expect(parseMaxAge('3600')).toBe(3600);
  });

  it.each(['-1', '1.5', '1e3', ' 1', 'abc', '99999999999'])('refuses the max_age %j.', (text) => {
    expect(failure(() => parseMaxAge(text))?.code).toBe('invalid_request');
  });
});
