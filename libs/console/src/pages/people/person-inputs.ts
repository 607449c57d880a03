import type { User } from '@tessera/proto-gen/admin-users';
import type { Input, Sent } from '../../forms/form-page.ts';

type Named = Pick<User, 'username' | 'name' | 'email' | 'phoneNumber'>;

/** By what a person is known and signs in, as it is now. */
export function personInputs(
  { username, name, email, phoneNumber }: Partial<Named>,
  { emailHint }: { readonly emailHint: string },
): { readonly [K in keyof Named]: Input } {
  return {
    username: {
      name: 'username',
      label: 'User name',
      hint: 'They can sign in with it.',
      kind: 'text',
      keyboard: 'text',
      value: username ?? '',
      isRequired: true,
      longest: 128,
    },
    name: {
      name: 'name',
      label: 'Name',
      hint: 'The whole name, as people read it.',
      kind: 'text',
      value: name ?? '',
      longest: 200,
    },
    email: {
      name: 'email',
      label: 'Email address',
      hint: emailHint,
      kind: 'text',
      keyboard: 'email',
      value: email ?? '',
      longest: 254,
    },
    phoneNumber: {
      name: 'phoneNumber',
      label: 'Phone number',
      hint: 'With the country code, for example +46701234567.',
      kind: 'text',
      keyboard: 'tel',
      value: phoneNumber ?? '',
      longest: 32,
    },
  };
}

/** What was entered there; a number is stored without spaces, dashes, brackets, and a zero for calls at home. */
export function personFrom(sent: Sent): Named {
  return {
    username: sent.text('username'),
    name: sent.text('name'),
    email: sent.text('email'),
    phoneNumber: sent.text('phoneNumber').replaceAll(/\(0\)|[\s().-]/g, ''),
  };
}
