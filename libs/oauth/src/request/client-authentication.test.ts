import { describe, expect, it } from 'vitest';
import { readClientAuthentication, type clientParameters } from './client-authentication.ts';

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

function read(
  authorization: string | undefined,
  body: Partial<Record<(typeof clientParameters)[number], string>> = {},
) {
  return readClientAuthentication({ authorization, parameter: (name) => body[name] });
}

describe('the authentication of a client (RFC 6749 §2.3.1)', () => {
  it('is read from the header, whose halves are form-encoded', () => {
    expect(read(basic('web%3A1:s%2Be+cret'))).toEqual({
      clientId: 'web:1',
      clientSecret: 's+e cret',
      method: 'client_secret_basic',
    });
  });

  it('is read from the body', () => {
    expect(read(undefined, { clientId: 'web', clientSecret: 's' })).toEqual({
      clientId: 'web',
      clientSecret: 's',
      method: 'client_secret_post',
    });
  });

  it('is none where a client only names itself', () => {
    expect(read(undefined, { clientId: 'spa' })).toEqual({
      clientId: 'spa',
      clientSecret: '',
      method: 'none',
    });
    expect(read(undefined)).toBeUndefined();
  });

  it('may name the client in the body too, but not another one', () => {
    expect(read(basic('web:s'), { clientId: 'web' })?.clientId).toBe('web');
    expect(() => read(basic('web:s'), { clientId: 'spa' })).toThrow('identifiers of the header and the body');
  });

  it('uses one way only (§2.3)', () => {
    expect(() => read(basic('web:s'), { clientSecret: 's' })).toThrow('more than one way');
    expect(() => read(basic('web:s'), { clientId: 'web', clientSecret: 's' })).toThrow('more than one way');
  });

  it('names the client', () => {
    expect(() => read(undefined, { clientSecret: 's' })).toThrow('The client identifier is missing.');
  });

  it.each([
    'Bearer abc',
    'Basic',
    'Basic !',
    basic('no colon'),
    basic(':s'),
    basic('%zz:s'),
    basic('a%00:s'),
  ])('refuses the header %j', (authorization) => {
    expect(() => read(authorization, { clientSecret: 's' })).toThrow('not valid client authentication');
  });
});

describe('a client assertion (RFC 7521 §4.2)', () => {
  const clientAssertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
  const assertion = { clientAssertion: 'a.b.c', clientAssertionType };

  it('is read with or without client_id, by its type', () => {
    const expected = { ...assertion, clientId: '', clientSecret: '', method: 'private_key_jwt' };
    expect(read(undefined, assertion)).toEqual(expected);
    expect(read(undefined, { ...assertion, clientId: 'web' })).toEqual({ ...expected, clientId: 'web' });
    const svid = {
      ...assertion,
      clientAssertionType: clientAssertionType.replace('jwt-bearer', 'jwt-spiffe'),
    };
    expect(read(undefined, svid)).toMatchObject({ method: 'spiffe_jwt' });
  });

  it.each([
    ['beside a secret', undefined, { clientId: 'web', clientSecret: 's' }],
    ['beside a Basic header', basic('web:s'), {}],
    [
      'of an unknown type',
      undefined,
      { clientAssertionType: 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer' },
    ],
    ['without a type', undefined, { clientAssertionType: undefined }],
    ['that is only a type', undefined, { clientAssertion: undefined }],
    ['of more than 16 KiB', undefined, { clientAssertion: 'x'.repeat(16_385) }],
  ])('is invalid_request %s', (_, header, more) => {
    const body = Object.fromEntries(
      Object.entries({ ...assertion, ...more }).filter(([, value]) => value !== undefined),
    );
    expect(() => read(header, body)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });
});
