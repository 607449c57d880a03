import { describe, expect, it } from 'vitest';
import { active, bcrypt, linkFor, read } from '../../testing/read-people.ts';

describe('Supabase', () => {
  it('the table has metadata as JSON, also in CSV, and numbers without a plus', () => {
    const text =
      'instance_id,id,aud,role,email,encrypted_password,email_confirmed_at,phone,phone_confirmed_at,banned_until,' +
      'deleted_at,raw_app_meta_data,raw_user_meta_data,is_sso_user,is_anonymous,factors\n' +
      `0,u1,authenticated,authenticated,ada@example.com,${bcrypt},2026-01-01 00:00:00+00,46701234567,,,,` +
      '"{""provider"":""email"",""providers"":[""email"",""github""],""plan"":""gold""}",' +
      '"{""full_name"":""Ada Lovelace"",""email_verified"":true,""team"":""sea""}",f,f,\n';
    expect(read('supabase', text, { format: 'csv' })).toEqual({
      users: [
        {
          username: 'ada@example.com',
          email: 'ada@example.com',
          emailVerified: true,
          name: 'Ada Lovelace',
          phoneNumber: '+46701234567',
          phoneNumberVerified: false,
          passwordHash: bcrypt,
          attributes: { supabaseId: 'u1', app_metadata_plan: 'gold', user_metadata_team: 'sea' },
        },
      ],
      leftOut: ['sign-in by github of 1 people: has no counterpart'],
    });
  });

  it('what people say of themselves verifies nothing', () => {
    const { users } = read('supabase', [
      { ...active['supabase'], email_confirmed_at: null, raw_user_meta_data: { email_verified: true } },
    ]);
    expect(users).toMatchObject([{ emailVerified: false, status: 'disabled' }]);
  });

  it('a hash that another product has made is left out', () => {
    const { leftOut } = read('supabase', [{ ...active['supabase'], encrypted_password: '$fbscrypt$v=1$x' }]);
    expect(leftOut).toEqual([linkFor('it has a hash, which is unknown here')]);
  });
});
