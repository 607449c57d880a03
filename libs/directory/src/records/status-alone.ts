import { z } from 'zod';
import type { StatusName } from '../fields/status.ts';
import type { Entry, RecordForm } from './record-form.ts';

/**
 * The status that an update sets if it changes nothing else; undefined for every other update. Throws InvalidArgument
 * for an unknown one.
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

/** The record with this status and otherwise as it is, whatever today's rules say of its other fields. */
export function withStatus<R extends object>(
  present: R,
  status: StatusName,
  { takeOver, writer }: { readonly takeOver: boolean; readonly writer: string },
): R {
  return { ...present, status, ...(takeOver && { owner: writer }) };
}
