import { Status, type User } from '@tessera/proto-gen/directory';
import { describe, expect, it } from 'vitest';
import { acceptsSignIn, isUsable } from './usable.ts';

type Client = Parameters<typeof acceptsSignIn>[0];
const client = (tenant: string, application: string) =>
  ({
    tenant: { authenticationPolicy: tenant },
    application: { authenticationPolicy: application },
  }) as Client;
const by = (methods: string[]) => ({ time: 1, methods }) as unknown as Parameters<typeof acceptsSignIn>[1];

describe('the sign-in of a grant (RFC 9470 §4)', () => {
  it.each([
    ['any', 'any', ['pwd'], true],
    ['', '', ['pwd'], true],
    ['second-factor', 'any', ['pwd'], false],
    ['any', 'second-factor', ['pwd'], false],
    ['second-factor', 'second-factor', ['pwd', 'otp', 'mfa'], true],
    ['second-factor', 'phishing-resistant', ['pwd', 'otp', 'mfa'], false],
    ['phishing-resistant', 'any', ['swk', 'user', 'mfa'], true],
    ['of a later version', 'any', ['pwd', 'otp', 'mfa'], false],
  ])(
    'with the policies %j of tenant and %j of application, by %j, is accepted: %s',
    (of, own, methods, is) => {
      expect(acceptsSignIn(client(of, own), by(methods))).toBe(is);
    },
  );

  it('is none where a webhook approves: only the policy of the application says whether one may', () => {
    for (const none of [by([]), undefined]) {
      expect(acceptsSignIn(client('second-factor', 'any'), none)).toBe(true);
      expect(acceptsSignIn(client('any', 'second-factor'), none)).toBe(false);
    }
  });
});

it('a grant whose sign-in a policy of today does not accept is not usable (RFC 9470 §4)', () => {
  const application = {
    status: Status.ACTIVE,
    grantTypes: ['refresh_token'],
    scopes: [{ name: 'offline_access' }],
    allowedRoles: [],
    validFrom: 0n,
  };
  const of = (authenticationPolicy: string) =>
    ({
      application: { ...application, authenticationPolicy },
      tenant: { status: Status.ACTIVE, authenticationPolicy: 'any', validFrom: 0n },
    }) as unknown as Client;
  const user = { status: Status.ACTIVE, roles: [], validFrom: 0n } as unknown as User;
  const authentication = by(['pwd']);
  expect(isUsable(of('any'), user, { authentication, scopes: ['offline_access'] })).toBe(true);
  expect(isUsable(of('second-factor'), user, { authentication, scopes: ['offline_access'] })).toBe(false);
});
