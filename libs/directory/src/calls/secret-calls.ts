import { Code, ConnectError, invalidFields, type Handlers } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import type { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import type { ClientSecrets } from '../secrets/client-secrets.ts';
import type { PepperCheck } from '../secrets/pepper-check.ts';
import { sentence } from '../fields/sentences.ts';
import { notFound } from '../ground/refusals.ts';
import { seconds } from '../ground/seconds.ts';
import type { RecordChanges } from '../records/change-requests.ts';
import { digested, writerOf } from '../records/writers.ts';
import { findRecord } from '../store/read-records.postgres.ts';
import type { ListedSecret } from '../secrets/found-secrets.ts';
import { mostSecrets, secret, secretIdOf } from '../secrets/declared-secrets.ts';
import { listSecrets } from '../applications/read.postgres.ts';

export interface SecretCallsDeps {
  readonly database: Database;
  readonly records: RecordChanges;
  readonly secrets: ClientSecrets;
  readonly pepperCheck: PepperCheck;
  readonly newSecret: () => string;
}

type SecretCalls = 'listSecrets' | 'createSecret' | 'deleteSecret';

/** The calls that read and change the secrets of one application. Their values are never stored. */
export function secretCalls({
  database,
  records,
  secrets,
  pepperCheck,
  newSecret,
}: SecretCallsDeps): Pick<Handlers<typeof ApplicationsService>, SecretCalls> {
  return {
    async listSecrets({ tenantId, clientId }) {
      const application = await findRecord(database, 'application', tenantId, clientId);
      const found = application && (await listSecrets(database, clientId));
      if (found === undefined) throw notFound('The application');
      return { secrets: found.map(messageOf) };
    },

    async createSecret({ clientId, value: given, expireTime, requestId, owner: named, ...request }, context) {
      await pepperCheck.require();
      const writer = writerOf(named);
      const value = given === '' ? newSecret() : given;
      const expiresAt = expireTime && timeOf(expireTime);
      const declared = parse({ value, expiresAt });
      const digest = secrets.digest(request.tenantId, clientId, declared.value);
      const created = { kind: 'secret', id: `${clientId} ${secretIdOf(digest)}` } as const;
      // Of a value that the server would make nothing is said before it is stored.
      const answer =
        given === '' && request.validateOnly ? noSecret : { secretId: secretIdOf(digest), value };
      let answered = answer;
      const { etag = '' } = await records.update(
        'application',
        {
          ...request,
          writer,
          id: clientId,
          claim: {
            requestId,
            content: { ...request, ...digested(writer), clientId, value: given, expireTime },
            created,
            repeated(id) {
              answered = { ...noSecret, secretId: id.split(' ')[1] ?? '' };
            },
          },
          async draft(present) {
            answered = answer;
            if (present.type === 'public') throw refused('A public application has no secret.');
            if (present.secrets.some((known) => known.digest === digest))
              throw new ConnectError('The application has this secret.', Code.AlreadyExists);
            if (present.secrets.length >= mostSecrets)
              throw refused(`The application has ${mostSecrets} secrets. Delete one of them first.`);
            const added = { digest, expiresAt: declared.expiresAt };
            return { ...present, owner: writer, secrets: [...present.secrets, added] };
          },
        },
        context,
      );
      return { ...answered, etag };
    },

    async deleteSecret({ clientId, secretId, owner: named, ...request }, context) {
      const writer = writerOf(named);
      const { etag = '' } = await records.update(
        'application',
        {
          ...request,
          writer,
          id: clientId,
          async draft(present) {
            const left = present.secrets.filter(({ digest }) => secretIdOf(digest) !== secretId);
            if (left.length === present.secrets.length) throw notFound('The secret');
            return { ...present, owner: writer, secrets: left };
          },
        },
        context,
      );
      return { etag };
    },
  };
}

const noSecret = { secretId: '', value: '' };

/** Never with the digest. */
function messageOf({ secretId, createdAt, expiresAt, lastUsedAt }: ListedSecret) {
  return {
    secretId,
    createTime: timestamp(createdAt),
    ...(expiresAt !== undefined && { expireTime: timestamp(expiresAt) }),
    ...(lastUsedAt !== undefined && { lastUseTime: timestamp(lastUsedAt) }),
  };
}

function timestamp(milliseconds: number) {
  return { seconds: seconds(milliseconds), nanos: 0 };
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

/** Throws InvalidArgument for what no calendar has. */
function timeOf({ seconds }: { readonly seconds: bigint }): string {
  const date = new Date(Number(seconds) * 1000);
  if (Number.isNaN(date.getTime()))
    throw invalidFields([{ field: 'expireTime', description: 'must be from year 1 to year 9999' }]);
  return date.toISOString();
}
