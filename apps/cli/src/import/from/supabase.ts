import { hashAsText } from './password-texts.ts';
import { disabledUntil, flag, ifSet, saysYes, type Product } from './product.ts';

/** Both names of what people say of themselves: of the table, and of the API. */
const ofPeople = ['raw_user_meta_data', 'user_metadata'];
const inBoth = (key: string): string[] => ofPeople.map((each) => `${each}.${key}`);

/** The table `auth.users` as CSV or JSON, or `GET /auth/v1/admin/users`. */
export const supabase: Product = {
  name: 'Supabase',
  list: 'users',
  hasBarePhoneNumbers: true,
  id: { keys: ['id'], attribute: 'supabaseId' },
  user: {
    email: ['email'],
    emailVerified: ['email_confirmed_at'],
    name: ['full_name', 'name'].flatMap(inBoth),
    picture: ['avatar_url', 'picture'].flatMap(inBoth),
    phoneNumber: ['phone'],
    phoneNumberVerified: ['phone_confirmed_at'],
  },
  // People write the one themselves, so that it must not pass for the other.
  attributes: {
    'raw_user_meta_data.': 'user_metadata_',
    'user_metadata.': 'user_metadata_',
    'raw_app_meta_data.': 'app_metadata_',
    'app_metadata.': 'app_metadata_',
  },
  json: [...ofPeople, 'raw_app_meta_data', 'app_metadata', 'factors', 'identities'],
  status: [
    { keys: ['banned_until'], says: disabledUntil, otherwise: 'active', isNeeded: true },
    { keys: ['deleted_at'], says: ifSet('gone'), otherwise: 'active', isNeeded: true },
    { keys: ['is_anonymous'], says: flag('gone', 'active'), otherwise: 'active', isNeeded: false },
    // Who has confirmed nothing cannot sign in there: anybody may have given that address.
    {
      keys: ['email_confirmed_at', 'phone_confirmed_at', 'confirmed_at'],
      says: (text) => (saysYes(text) ? 'active' : undefined),
      otherwise: 'disabled',
      isNeeded: true,
    },
  ],
  secondFactors: { keys: ['factors'], isNeeded: true },
  providers: {
    keys: ['raw_app_meta_data.providers', 'app_metadata.providers', 'identities'],
    name: 'provider',
    own: ['email', 'phone'],
  },
  password: {
    keys: ['encrypted_password'],
    find(fields) {
      const text = fields.text('encrypted_password');
      return text === '' ? undefined : hashAsText(text);
    },
  },
  meaningless: {
    'times there': [
      'created_at',
      'updated_at',
      'last_sign_in_at',
      'invited_at',
      'confirmation_sent_at',
      'recovery_sent_at',
      'email_change_sent_at',
      'phone_change_sent_at',
      'reauthentication_sent_at',
    ],
    'changes and links that have not ended': [
      'confirmation_token',
      'recovery_token',
      'reauthentication_token',
      'phone_change',
      'phone_change_token',
      'email_change',
      'new_email',
      'new_phone',
      'action_link',
      'email_change_token_new',
      'email_change_token_current',
      'email_change_confirm_status',
    ],
    'of the database of Supabase': ['instance_id', 'aud', 'role'],
    'what is said of a person by email_confirmed_at, id and identities': [
      ...['email', 'email_verified', 'phone_verified', 'sub', 'iss', 'provider_id'].flatMap(inBoth),
      'raw_app_meta_data.provider',
      'app_metadata.provider',
      'is_sso_user',
    ],
  },
};
