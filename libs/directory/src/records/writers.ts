import { Code, ConnectError, invalidFields } from '@tessera/rpc';
import { apiOwner, owner } from '../fields/owner.ts';
import type { RecordKind } from '../record-kinds.ts';
import type { StatusName } from '../fields/status.ts';

/** The owner that a request names; undefined if it names none. Throws InvalidArgument. */
export function ownerOf(name: string): string | undefined {
  if (name === '') return undefined;
  const parsed = owner.safeParse(name);
  if (parsed.success) return parsed.data;
  const [description = ''] = parsed.error.issues.map(({ message }) => message);
  throw invalidFields([{ field: 'owner', description }]);
}

/** As whom a request writes one record. Throws InvalidArgument for what is no owner. */
export function writerOf(name: string): string {
  return name === apiOwner ? name : (ownerOf(name) ?? apiOwner);
}

/** What a digest of a request has of it: nothing of the usual one, so that naming it makes no other request. */
export function digested(writer: string): { readonly owner?: string } {
  return writer === apiOwner ? {} : { owner: writer };
}

/**
 * Throws InvalidArgument for a record in a request that says another owner than it may have afterwards: the server sets
 * it, and would not do what the request says.
 * @param said empty if it says none
 */
export function refuseOtherOwner(kind: RecordKind, said: string, possible: readonly string[]): void {
  if (said === '' || possible.includes(said)) return;
  const description = 'is set by the server; name the owner in `owner` of the request';
  throw invalidFields([{ field: `${kind}.owner`, description }]);
}

/**
 * Throws FailedPrecondition for a record of another owner, unless it is taken over or only gets a status that needs no
 * owner. To disable or lock may be urgent; to enable needs the owner, as one who declares that a record is disabled
 * restricts.
 * @param name what errors call the record
 * @param writer as whom the caller writes
 * @param status that it gets and nothing else; undefined for other changes
 */
export function requireOwner(
  name: string,
  present: { readonly owner: string; readonly status?: string },
  {
    writer,
    takeOver,
    status,
  }: {
    readonly writer: string;
    readonly takeOver: boolean;
    readonly status?: StatusName | undefined;
  },
): void {
  const { owner: of } = present;
  if (of === writer || takeOver) return;
  const isEnabled = status === 'active' && present.status !== 'active';
  if (status !== undefined && !isEnabled) return;
  throw new ConnectError(
    `${name} belongs to the owner "${of}". Change it there, or take it over.`,
    Code.FailedPrecondition,
  );
}
