import { UsersService } from '@tessera/proto-gen/admin-users';
import { confirmedOfPerson, endsOf } from '../../confirmed.ts';

const updateMask = { paths: ['status'] };

/** Shuts a person out, as somebody who leaves. */
export const disablePage = confirmedOfPerson({
  message:
    '{name} can no longer sign in, and everything that was issued to them ends. You can enable them again.',
  label: 'Disable',
  ends: async ({ api, call }, { tenantId, userId, etag }) => {
    const user = { userId, etag, status: 'disabled' };
    const { impact } = await api(UsersService).update(
      { tenantId, user, updateMask, validateOnly: true, impact: true },
      call(),
    );
    return endsOf(impact);
  },
  act: async ({ api, call }, { tenantId, userId, etag }) => {
    await api(UsersService).update(
      { tenantId, user: { userId, etag, status: 'disabled' }, updateMask },
      call(),
    );
    return {
      title: 'This person is disabled',
      message: 'Nobody gets in with this account, and what was issued to it has ended.',
    };
  },
});

/** Lets a person in again who was disabled or locked. */
export const enablePage = confirmedOfPerson({
  message: '{name} can sign in again with what they had before. What has ended stays ended.',
  label: 'Enable',
  isHarmless: true,
  ends: async () => [],
  act: async ({ api, call }, { tenantId, userId, etag }) => {
    await api(UsersService).update(
      { tenantId, user: { userId, etag, status: 'active' }, updateMask },
      call(),
    );
    return { title: 'This person is enabled', message: 'They can sign in again now.' };
  },
});

/** Deletes a person. */
export const deletePersonPage = confirmedOfPerson({
  message: 'The account of {name} is deleted. It can be brought back for 30 days.',
  label: 'Delete',
  ends: async ({ api, call }, whose) => {
    const request = { ...whose, validateOnly: true, impact: true };
    return endsOf((await api(UsersService).delete(request, call())).impact);
  },
  act: async ({ api, call }, whose) => {
    await api(UsersService).delete(whose, call());
    return {
      title: 'The account is deleted',
      message: 'Everything that was issued to this person has ended.',
      isGone: true,
    };
  },
});
