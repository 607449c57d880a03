import { UsersService, type User } from '@tessera/proto-gen/admin-users';
import { personOf, sendDone, totalEndsOf } from '../../confirmed.ts';
import { confirmedBefore } from '../../forms/confirmed-form.ts';
import { formPage, type Input, type Sent } from '../../forms/form-page.ts';
import { otherOwner } from '../../forms/owned.ts';
import { nameOf } from '../../shown-person.ts';
import { param, pathOf, type ConsolePage, type Visit } from '../../console-visit.ts';
import { personFrom, personInputs } from './person-inputs.ts';

const pathOfPerson = (visit: Visit) => pathOf(param(visit, 'tenant'), 'people', param(visit, 'person'));

/** What a person is called, and where they are reached. */
export const editPersonPage: ConsolePage = formPage<User>({
  read: personOf,
  subject: nameOf,
  ownerOf: otherOwner,
  label: 'Save',
  inputs: inputsOf,
  hidden: ({ etag }) => [{ name: 'etag', value: etag }],
  back: pathOfPerson,
  send: async (visit, sent, { userId }) => {
    const { user: changed, paths } = changesIn(sent);
    const user = { userId, etag: sent.text('etag'), ...changed };
    const request = { tenantId: param(visit, 'tenant'), user, updateMask: { paths } };
    const asked = await confirmedBefore(visit, sent, {
      ends: async () => {
        const found = await visit
          .api(UsersService)
          .update({ ...request, validateOnly: true, impact: true }, visit.call());
        return totalEndsOf(found.impact);
      },
      title: 'Change this person?',
      message: 'This change ends something that works now.',
      label: 'Change it',
      back: pathOfPerson(visit),
    });
    if (asked !== undefined) return asked;
    await visit.api(UsersService).update(request, visit.call());
    return sendDone(visit, {
      title: 'The person is changed',
      message:
        'Applications see the change when they next refresh their tokens. Access tokens that they have stay valid until they expire.',
    });
  },
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

function changesIn(sent: Sent) {
  const verified = sent.text('emailVerified');
  return {
    user: {
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
