import { Code, ConnectError, invalidFields, type Handlers } from '@tessera/rpc';
import type { DirectoryAdminService } from '@tessera/proto-gen/directory';
import type { ClientSecrets } from '../credentials/client-secrets.ts';
import type { PepperCheck } from '../credentials/pepper-check.ts';
import { sentence } from '../declared/sentences.ts';
import { apiOwner } from '../declared/owner.ts';
import { notFound, secretMessage } from '../messages.ts';
import type { RecordChanges } from '../records/change-records.ts';
import type { DirectoryStore } from '../store/store.ts';
import { mostSecrets, secret, secretIdOf } from './declared-secrets.ts';

export interface SecretCallsDeps {
  readonly directoryStore: Pick<DirectoryStore, 'listSecrets'>;
  readonly records: RecordChanges;
  readonly secrets: ClientSecrets;
  readonly pepperCheck: PepperCheck;
  readonly newSecret: () => string;
}

type SecretCalls = 'listApplicationSecrets' | 'createApplicationSecret' | 'deleteApplicationSecret';

/** The calls that read and change the secrets of one application. Their values are never stored. */
export function secretCalls({
  directoryStore,
  records,
  secrets,
  pepperCheck,
  newSecret,
}: SecretCallsDeps): Pick<Handlers<typeof DirectoryAdminService>, SecretCalls> {
  return {
    async listApplicationSecrets({ clientId }) {
      const found = await directoryStore.listSecrets(clientId);
      if (found === undefined) throw notFound('The application');
      return { secrets: found.map(secretMessage) };
    },

    async createApplicationSecret({ clientId, value: given, expireTime, requestId, ...request }, context) {
      await pepperCheck.require();
      const value = given === '' ? newSecret() : given;
      const expiresAt = expireTime && new Date(Number(expireTime.seconds) * 1000).toISOString();
      const declared = parse({ value, expiresAt });
      const digest = secrets.digest(request.tenantId, clientId, declared.value);
      const created = { kind: 'secret', id: `${clientId} ${secretIdOf(digest)}` } as const;
      let answered = { secretId: secretIdOf(digest), value };
      const { etag = '' } = await records.update(
        'application',
        {
          ...request,
          id: clientId,
          claim: {
            requestId,
            created,
            repeated: (id) => (answered = { secretId: id.split(' ')[1] ?? '', value: '' }),
          },
          async draft(present) {
            answered = { secretId: secretIdOf(digest), value };
            if (present.type === 'public') throw refused('A public application has no secret.');
            if (present.secrets.some((known) => known.digest === digest))
              throw new ConnectError('The application has this secret.', Code.AlreadyExists);
            if (present.secrets.length >= mostSecrets)
              throw refused(`The application has ${mostSecrets} secrets. Delete one of them first.`);
            const added = { digest, expiresAt: declared.expiresAt };
            return { ...present, owner: apiOwner, secrets: [...present.secrets, added] };
          },
        },
        context,
      );
      return { ...answered, etag };
    },

    async deleteApplicationSecret({ clientId, secretId, ...request }, context) {
      const { etag = '' } = await records.update(
        'application',
        {
          ...request,
          id: clientId,
          async draft(present) {
            const left = present.secrets.filter(({ digest }) => secretIdOf(digest) !== secretId);
            if (left.length === present.secrets.length) throw notFound('The secret');
            return { ...present, owner: apiOwner, secrets: left };
          },
        },
        context,
      );
      return { etag };
    },
  };
}

function parse(entry: { readonly value: string; readonly expiresAt: string | undefined }) {
  const parsed = secret.safeParse(entry, { error: sentence });
  if (parsed.success) return parsed.data;
  throw invalidFields(
    parsed.error.issues.map(({ path, message }) => ({
      field: path[0] === 'expiresAt' ? 'expireTime' : 'value',
      description: message,
    })),
  );
}

function refused(why: string): ConnectError {
  return new ConnectError(why, Code.FailedPrecondition);
}
