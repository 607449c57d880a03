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
 * Whether a record of another owner gets a status without being taken over. To disable or lock may be urgent; to enable needs the owner, as
 * one who declares that a record is disabled restricts.
 */
export function isFreeOfOwner(present: object, status: StatusName): boolean {
  return status !== 'active' || ('status' in present && present.status === 'active');
}

/** The record with this status and otherwise as it is, whatever today's rules say of its other fields. */
export function withStatus<R extends object>(present: R, status: StatusName, takeOver: boolean): R {
  return { ...present, status, ...(takeOver && { owner: apiOwner }) };
}
