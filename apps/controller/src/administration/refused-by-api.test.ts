import { Code, ConnectError } from '@tessera/admin-client';
import { describe, expect, it } from 'vitest';
import { refusalOf } from './refused-by-api.ts';

describe('what the administration API refuses', () => {
  it('is said by the fields of the object', () => {
    const text = [
      'spec:1:71: tenants[0].applications[0].scopes[1]: is no scope of the tenant',
      'spec:1:20: tenants[0].applications[0]: needs a redirect URI',
      'spec:1:9: is too large',
    ].join('\n');
    expect(refusalOf(new ConnectError(text, Code.InvalidArgument))).toEqual({
      reason: 'Invalid',
      message: 'spec.scopes[1]: is no scope of the tenant\nspec: needs a redirect URI\nspec: is too large',
    });
  });

  it.each([
    [Code.PermissionDenied, 'NotAllowed'],
    [Code.FailedPrecondition, 'Conflict'],
    [Code.Unavailable, 'ServerUnavailable'],
    [Code.Unauthenticated, 'ServerUnavailable'],
    [Code.Aborted, 'ChangedMeanwhile'],
  ])('with the code %s has a reason', (code, reason) => {
    expect(refusalOf(new ConnectError('No.', code))).toEqual({ reason, message: 'No.' });
  });

  it('is no refusal if nobody answered', () => {
    expect(refusalOf(new TypeError('fetch failed')).reason).toBe('ServerUnavailable');
  });
});
