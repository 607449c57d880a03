import { describe, expect, it } from 'vitest';
import { application, applicationFields } from './fields.ts';
import { desiredOf, entryOf } from '../fields/field.ts';
import { testApplication } from '../store/store.contract.ts';

const least = { clientId: 'acme-web', name: 'Acme', type: 'public', grantTypes: ['device_code'] };

describe('the fields of an application', () => {
  it('are written as declared, without what may be left out', () => {
    const record = desiredOf(applicationFields, application.parse(least), undefined);
    expect(entryOf(applicationFields, record)).toEqual(least);
  });

  it('are written with all that is not the default', () => {
    const {
      secrets: _,
      owner: _owner,
      ...given
    } = testApplication('acme-web', {
      status: 'disabled',
      publicKeys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y' }],
      jwksUri: 'https://acme.example/keys',
      trusts: [
        { issuer: 'https://ci.example', subject: 'a', audience: 'b', maxAge: 60, sharedIdentity: true },
      ],
      idTokenSigningAlgorithm: 'ES256',
    });
    const { idToken: _none, ...lifetimes } = given.lifetimes;
    expect(entryOf(applicationFields, given)).toEqual({ ...given, lifetimes });
    const declared = application.parse(entryOf(applicationFields, given));
    expect(desiredOf(applicationFields, declared, undefined)).toEqual(given);
  });

  it('keep their value where a key without a default is left out', () => {
    const current = testApplication('acme-web', { status: 'disabled' });
    expect(desiredOf(applicationFields, application.parse(least), current).status).toBe('disabled');
  });
});
