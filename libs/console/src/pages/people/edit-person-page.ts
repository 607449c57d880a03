import type { User } from '@tessera/proto-gen/admin-users';
import { personOf } from '../../confirmed.ts';
import { changePerson, pathOfPerson } from '../../forms/change-person.ts';
import { formPage, type Input, type Sent } from '../../forms/form-page.ts';
import { otherOwner } from '../../forms/owned.ts';
import { nameOf } from '../../shown-person.ts';
import type { ConsolePage } from '../../console-visit.ts';
import { personFrom, personInputs } from './person-inputs.ts';

/** What a person is called, and where they are reached. */
export const editPersonPage: ConsolePage = formPage<User>({
  read: personOf,
  subject: nameOf,
  ownerOf: otherOwner,
  label: 'Save',
  inputs: inputsOf,
  hidden: ({ etag }) => [{ name: 'etag', value: etag }],
  back: pathOfPerson,
  send: async (visit, sent) =>
    changePerson(visit, sent, {
      ...changesIn(sent),
      question: 'Change this person?',
      done: 'The person is changed',
    }),
});

function inputsOf(user: User): readonly Input[] {
  const { username, name, email, phoneNumber } = personInputs(user, {
    emailHint: 'They can sign in with it. Changing it invalidates links already sent.',
  });
  const more = [
    { name: 'givenName', label: 'Given name', kind: 'text', value: user.givenName, longest: 200 },
    { name: 'familyName', label: 'Family name', kind: 'text', value: user.familyName, longest: 200 },
  ] as const;
  return [username, name, ...more, email, verifiedInput(user), phoneNumber];
}

/** What is said of an address is never said of another one because somebody left the choice as it was. */
function verifiedInput({ emailVerified }: User): Input {
  const options =
    emailVerified === true
      ? [
          { value: 'keep', label: 'Leave it verified', hint: 'A new address starts unverified.', isOn: true },
          { value: 'yes', label: 'Verified, also if you change the address', isOn: false },
          { value: 'no', label: 'Not verified', isOn: false },
        ]
      : [
          { value: 'keep', label: 'Not verified', isOn: true },
          { value: 'yes', label: 'Verified', isOn: false },
        ];
  return {
    name: 'emailVerified',
    label: 'Is the email address verified?',
    hint: 'Applications read this in tokens. Only say so if you know that this person reads email there.',
    kind: 'one',
    options,
  };
}

/** The fields as they are sent, and which of them are changed. */
function changesIn(sent: Sent) {
  const verified = sent.text('emailVerified');
  return {
    changed: {
      ...personFrom(sent),
      givenName: sent.text('givenName'),
      familyName: sent.text('familyName'),
      emailVerified: verified === 'yes',
    },
    paths: [
      'username',
      'name',
      'email',
      'phone_number',
      'given_name',
      'family_name',
      ...(['yes', 'no'].includes(verified) ? ['email_verified'] : []),
    ],
  };
}
