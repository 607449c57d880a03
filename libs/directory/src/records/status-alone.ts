import { Code, ConnectError } from '@tessera/rpc';
import { z } from 'zod';
import { apiOwner } from '../fields/owner.ts';
import type { StatusName } from '../fields/status.ts';
import type { Entry, RecordForm } from './record-form.ts';

/**
 * The status that an update sets if it changes nothing else; undefined for every other update. Throws InvalidArgument for an unknown one.
 * @param schema of the status of the kind
 */
export function statusAlone<S extends StatusName>(
  form: Pick<RecordForm<never>, 'parse'>,
  schema: z.ZodType<S | undefined>,
  given: Entry,
  paths: readonly (readonly string[])[],
): S | undefined {
  if (paths.length !== 1 || paths[0]?.join('.') !== 'status') return undefined;
  return form.parse(z.object({ status: schema }), { status: given['status'] }).status;
}

/**
 * Throws FailedPrecondition for a record of another owner, unless it is taken over or only gets a status that needs no owner. To disable or
 * lock may be urgent; to enable needs the owner, as one who declares that a record is disabled restricts.
 * @param name what errors call the record
 * @param status that it gets and nothing else; undefined for other changes
 * @param remedy by what a caller takes it over
 */
export function requireOwner(
  name: string,
  present: { readonly owner: string; readonly status?: string },
  {
    takeOver,
    status,
    remedy = 'take it over',
  }: {
    readonly takeOver: boolean;
    readonly status?: StatusName | undefined;
    readonly remedy?: string;
  },
): void {
  const { owner } = present;
  if (owner === apiOwner || takeOver) return;
  const isEnabled = status === 'active' && present.status !== 'active';
  if (status !== undefined && !isEnabled) return;
  throw new ConnectError(
    `${name} belongs to the owner "${owner}". Change it there, or ${remedy}.`,
    Code.FailedPrecondition,
  );
}

/** The record with this status and otherwise as it is, whatever today's rules say of its other fields. */
export function withStatus<R extends object>(present: R, status: StatusName, takeOver: boolean): R {
  return { ...present, status, ...(takeOver && { owner: apiOwner }) };
}
