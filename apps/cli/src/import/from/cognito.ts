import { isEntry, type Entry } from '../files/imported.ts';
import { flag, oneOf, type Product } from './product.ts';

/** `aws cognito-idp list-users`, also with what `admin-get-user` adds, and CSV with the columns of its imports. */
export const cognito: Product = {
  name: 'Cognito',
  list: 'Users',
  id: { keys: ['sub'], attribute: 'cognitoId' },
  user: {
    username: ['cognito:username', 'Username'],
    preferredUsername: ['preferred_username'],
    email: ['email'],
    emailVerified: ['email_verified'],
    name: ['name'],
    givenName: ['given_name'],
    familyName: ['family_name'],
    middleName: ['middle_name'],
    nickname: ['nickname'],
    phoneNumber: ['phone_number'],
    phoneNumberVerified: ['phone_number_verified'],
    locale: ['locale'],
    zoneinfo: ['zoneinfo'],
    picture: ['picture'],
    profile: ['profile'],
    website: ['website'],
    gender: ['gender'],
    birthdate: ['birthdate'],
    'address.formatted': ['address'],
  },
  attributes: { 'custom:': 'custom_' },
  status: [
    { keys: ['Enabled'], says: flag('active', 'disabled'), isNeeded: true },
    {
      keys: ['UserStatus', 'cognito:user_status'],
      says: oneOf({
        CONFIRMED: 'active',
        EXTERNAL_PROVIDER: 'active',
        FORCE_CHANGE_PASSWORD: 'newPassword',
        RESET_REQUIRED: 'newPassword',
        UNCONFIRMED: 'disabled',
        ARCHIVED: 'disabled',
        COMPROMISED: 'disabled',
      }),
      isNeeded: true,
    },
  ],
  secondFactors: {
    keys: ['cognito:mfa_enabled', 'UserMFASettingList', 'PreferredMfaSetting', 'MFAOptions'],
    isNeeded: false,
  },
  providers: { keys: ['identities'], name: 'providerName', own: [] },
  password: { keys: [] },
  meaningless: {
    'times there': ['UserCreateDate', 'UserLastModifiedDate', 'updated_at'],
  },
  unfold({ Attributes, UserAttributes, ...record }) {
    const named = [Attributes, UserAttributes].flatMap((list): unknown[] =>
      Array.isArray(list) ? list : [],
    );
    const attributes = named.flatMap((each): [string, unknown][] =>
      isEntry(each) && typeof each['Name'] === 'string' ? [[each['Name'], each['Value']]] : [],
    );
    const own: Entry = Object.fromEntries(attributes);
    return { ...own, ...record };
  },
};
