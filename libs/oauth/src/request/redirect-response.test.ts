import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OAuthError } from '../errors.ts';
import { authorizationResponse, errorDescription, logoutLocation, withQuery } from './redirect-response.ts';

const issuer = 'https://id.example';

describe('withQuery (RFC 6749 §3.1.2)', () => {
  it.each([
    ['https://app.example/x', 'https://app.example/x?a=1'],
    ['https://app.example', 'https://app.example?a=1'],
    ['https://app.example/x?', 'https://app.example/x?a=1'],
    ['https://app.example/x?b=%7E', 'https://app.example/x?b=%7E&a=1'],
    ['https://app.example/x?b&', 'https://app.example/x?b&a=1'],
    ['https://app.example/x?b=2#f?g', 'https://app.example/x?b=2&a=1#f?g'],
    ['https://app.example/x#f', 'https://app.example/x?a=1#f'],
    ['com.example.app:/cb', 'com.example.app:/cb?a=1'],
  ])('turns %s into %s.', (uri, expected) => {
    expect(withQuery(uri, { a: '1', left: undefined })).toBe(expected);
  });

  it('returns the URI unchanged if there is nothing to add.', () => {
    expect(withQuery('https://app.example/x#f', { a: undefined })).toBe('https://app.example/x#f');
  });

  it('returns any value through a parser unchanged, on one line, without touching the registered bytes.', () => {
    const base = 'https://app.example/x?q=%7e+%20';
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (value) => {
        const location = withQuery(`${base}#f`, { state: value });
        expect(location).toMatch(/^[\x21-\x7e]+$/);
        expect(location.startsWith(`${base}&`)).toBe(true);
        expect(new URL(location).searchParams.get('state')).toBe(value);
        expect(new URL(location).hash).toBe('#f');
      }),
    );
  });
});

describe('authorizationResponse (RFC 6749 §4.1.2, RFC 9207 §2)', () => {
  it('carries code, state and iss.', () => {
    const { location, formPost } = authorizationResponse('https://app.example/cb', {
      clientId: 'web',
      outcome: { code: 'c' },
      responseMode: 'query',
      state: 's s&',
      issuer,
    });
    expect(location).toBe('https://app.example/cb?code=c&state=s+s%26&iss=https%3A%2F%2Fid.example');
    expect(formPost).toBeUndefined();
  });

  it('is a form with the same parameters in the response mode form_post (OAuth 2.0 Form Post Response Mode §2).', () => {
    const { formPost } = authorizationResponse('https://app.example/cb?a=1', {
      clientId: 'web',
      outcome: { code: 'c' },
      responseMode: 'form_post',
      state: '"><b>',
      issuer,
    });
    expect(formPost).toEqual({
      uri: 'https://app.example/cb?a=1',
      clientId: 'web',
      parameters: { code: 'c', state: '"><b>', iss: issuer },
    });
  });

  it('is in the fragment in the response mode fragment (OAuth 2.0 Multiple Response Types §2.1).', () => {
    const { location, formPost } = authorizationResponse('https://app.example/cb?a=1', {
      clientId: 'web',
      outcome: { code: 'c' },
      responseMode: 'fragment',
      state: 's s&',
      issuer,
    });
    expect(location).toBe('https://app.example/cb?a=1#code=c&state=s+s%26&iss=https%3A%2F%2Fid.example');
    expect(formPost).toBeUndefined();
  });

  it('has no state if none was sent.', () => {
    for (const state of [undefined, '']) {
      const { location } = authorizationResponse('https://app.example/cb', {
        clientId: 'web',
        outcome: { code: 'c' },
        responseMode: 'query',
        state,
        issuer,
      });
      expect(new URL(location).searchParams.has('state')).toBe(false);
    }
  });

  it('carries error, description, state and iss (§4.1.2.1).', () => {
    const error = new OAuthError('login_required', 'The person must sign in.');
    const { location } = authorizationResponse('https://app.example/cb?a=1', {
      clientId: 'web',
      outcome: { error },
      responseMode: 'query',
      state: 's',
      issuer,
    });
    expect(Object.fromEntries(new URL(location).searchParams)).toEqual({
      a: '1',
      error: 'login_required',
      error_description: 'The person must sign in.',
      state: 's',
      iss: issuer,
    });
  });

  it('turns an error that may not travel by redirect into server_error without its sentence.', () => {
    const error = new OAuthError('invalid_grant', 'Something private.');
    const { location } = authorizationResponse('https://app.example/cb', {
      clientId: 'web',
      outcome: { error },
      responseMode: 'query',
      state: undefined,
      issuer,
    });
    expect(Object.fromEntries(new URL(location).searchParams)).toEqual({
      error: 'server_error',
      iss: issuer,
    });
  });

  it('keeps error_description within its characters (§5.2).', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (message) => {
        expect(errorDescription(message)).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/);
      }),
    );
  });
});

describe('logoutLocation (OIDC RP-Initiated Logout §3)', () => {
  it('adds logged_out=1 before a fragment and after a query.', () => {
    const added = { state: '', loggedOut: true };
    expect(logoutLocation('https://app/x?a=1#f', added)).toBe('https://app/x?a=1&logged_out=1#f');
  });

  it('adds nothing but state without logged_out.', () => {
    expect(logoutLocation('https://app/x', { state: '', loggedOut: false })).toBe('https://app/x');
    expect(logoutLocation('https://app/x', { state: 's', loggedOut: false })).toBe('https://app/x?state=s');
  });

  it('carries state and cannot break the header.', () => {
    expect(logoutLocation('https://app/x', { state: 'a\r\nSet-Cookie: b', loggedOut: true })).toBe(
      'https://app/x?logged_out=1&state=a%0D%0ASet-Cookie%3A+b',
    );
    expect(logoutLocation('https://app/x?a=%0d%0a', { state: '', loggedOut: true })).toBe(
      'https://app/x?a=%0d%0a&logged_out=1',
    );
  });
});
