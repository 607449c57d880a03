import { eventBase } from '@tessera/audit';
import type { UsersService } from '@tessera/proto-gen/admin-users';
import { invalidFields, type Handlers } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { notFound, waysInOf, refuseSelf } from '@tessera/directory/ground';
import { ofAnybody } from '../../change/of-anybody.postgres.ts';
import { hasCredential, removeCredential, type Credential } from '../../change/remove-credential.postgres.ts';
import type { ChangeRuntime } from '../../mail/announce.ts';
import { waysLeft } from './ways-left.ts';

type DeleteCredential = Handlers<typeof UsersService>['deleteCredential'];

const names = {
  passkey: 'The passkey',
  provider: 'The link with the provider',
  totp: 'The authenticator app',
} as const;

/**
 * The call of an administrator that removes one of the things that a person signs in with, the last one too, and ends
 * what was issued before. Throws NotFound, Aborted for another version, InvalidArgument if it names nothing, and
 * FailedPrecondition for the caller themselves.
 */
export function createDeleteCredential({
  database,
  sendsMail,
  onChange,
  ...runtime
}: ChangeRuntime & {
  readonly database: Database;
  /** Whether people can ask for a new password by mail. */
  readonly sendsMail: boolean;
  /** Called after each commit. */
  readonly onChange: () => void;
}): DeleteCredential {
  return async ({ tenantId, userId, etag, credential: named, validateOnly, impact }, context) => {
    const person = { tenantId, userId };
    const by = eventBase(context);
    refuseSelf(by, userId, { deed: 'remove a way in of yours', remedy: 'Remove it' });
    const credential = credentialOf(named);
    const { kind, id } = credential;
    const answer = await ofAnybody(database, { ...person, etag }, async (tx, { username, email }) => {
      if (!(await hasCredential(tx, person, credential))) throw notFound(names[kind]);
      const left = await waysInOf(tx, person, kind === 'totp' ? {} : { [kind]: id });
      if (!validateOnly) await removeCredential(tx, runtime, person, { credential, by });
      const ends = { people: 1, usernames: [username], ends: { tenantId, userIds: [userId] } };
      return {
        removed: kind,
        waysLeft: waysLeft(left, { email, sendsMail }),
        ...(validateOnly && impact && { impact: ends }),
      };
    });
    if (!validateOnly) onChange();
    return answer;
  };
}

function credentialOf(named: Parameters<DeleteCredential>[0]['credential']): Credential {
  if (named.case === 'passkeyId') return { kind: 'passkey', id: named.value };
  if (named.case === 'provider') return { kind: 'provider', id: named.value };
  if (named.case === 'totp' && named.value) return { kind: 'totp', id: '' };
  throw invalidFields([{ field: 'credential', description: 'must name passkeyId, provider or totp' }]);
}
