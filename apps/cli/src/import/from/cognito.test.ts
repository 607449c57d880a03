import { describe, expect, it } from 'vitest';
import { active, linkFor, read } from '../../testing/read-people.ts';

describe('Cognito', () => {
  const none = linkFor('there is none in the file');

  it('list-users has attributes by name and value', () => {
    const attributes = Object.entries({
      sub: 'a1',
      email: 'ada@example.com',
      email_verified: 'true',
      phone_number: '+46701234567',
      phone_number_verified: 'false',
      'custom:plan': 'gold',
      identities: '[{"providerName":"Google","providerType":"Google"}]',
    });
    const ada = {
      ...active['cognito'],
      Attributes: attributes.map(([Name, Value]) => ({ Name, Value })),
      UserCreateDate: 1_767_225_600.5,
    };
    expect(read('cognito', { Users: [ada] })).toEqual({
      users: [
        {
          username: 'ada',
          email: 'ada@example.com',
          emailVerified: true,
          phoneNumber: '+46701234567',
          phoneNumberVerified: false,
          attributes: { cognitoId: 'a1', custom_plan: 'gold' },
        },
      ],
      leftOut: [none, 'sign-in by Google of 1 people: has no counterpart'],
    });
  });

  it('CSV for its imports is read with columns that say who may sign in', () => {
    const text =
      'Enabled,UserStatus,name,email,email_verified,address,updated_at,cognito:mfa_enabled,cognito:username\n' +
      'true,CONFIRMED,Ada,ada@example.com,TRUE,12 Square,1767225600,FALSE,ada\n';
    expect(read('cognito', text, { format: 'csv' })).toEqual({
      users: [
        {
          username: 'ada',
          email: 'ada@example.com',
          emailVerified: true,
          name: 'Ada',
          address: { formatted: '12 Square' },
        },
      ],
      leftOut: [none],
    });
  });
});
