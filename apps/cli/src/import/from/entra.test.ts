import { describe, expect, it } from 'vitest';
import { active, read } from '../../testing/read-people.ts';

describe('Entra', () => {
  it('the download of users has columns by the names of Microsoft Graph', () => {
    const text =
      'userPrincipalName,displayName,surname,mail,givenName,id,userType,jobTitle,accountEnabled,city,mobilePhone,' +
      'ageGroup,creationType,directorySynced,invitationState,identityIssuer,createdDateTime\n' +
      'ada@example.com,Ada Lovelace,Lovelace,ada@example.com,Ada,e1,Member,Analyst,True,London,070 123,' +
      'Adult,,,,harbour.example,1/1/2026 1:25:31 PM\n' +
      'eve_example.net#EXT#@example.com,Eve,,,,e2,Guest,,True,,,,Invitation,,PendingAcceptance,,\n';
    expect(read('entra', text, { format: 'csv' })).toEqual({
      users: [
        {
          username: 'ada@example.com',
          email: 'ada@example.com',
          emailVerified: false,
          name: 'Ada Lovelace',
          givenName: 'Ada',
          familyName: 'Lovelace',
          address: { locality: 'London' },
          attributes: { entraId: 'e1', userType: 'Member', jobTitle: 'Analyst' },
        },
        {
          username: 'eve_example.net#EXT#@example.com',
          name: 'Eve',
          status: 'disabled',
          attributes: { entraId: 'e2', userType: 'Guest' },
        },
      ],
      leftOut: [
        'mobilePhone of 1 people: is no number such as +46701234567',
        'password of 2 people: there is none in the file; they need a link to set one',
        'ageGroup of 1 people: has no counterpart',
      ],
    });
  });

  it('Microsoft Graph has a list of phone numbers, and identities of other issuers', () => {
    const ada = {
      '@odata.type': '#microsoft.graph.user',
      ...active['entra'],
      businessPhones: ['+46 8 123'],
      identities: [{ signInType: 'federated', issuer: 'google.com', issuerAssignedId: '1' }],
    };
    const { users, leftOut } = read('entra', { '@odata.context': 'x', value: [ada] });
    expect(users).toMatchObject([{ attributes: { businessPhones: ['+46 8 123'] } }]);
    expect(leftOut).toContain('sign-in by federated of 1 people: has no counterpart');
  });
});
