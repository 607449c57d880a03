import type { CallOptions } from '@connectrpc/connect';
import type { Actor } from './call.ts';
import { headersOf } from './call-options.ts';

/** Metadata key of the actor, which the caller `admin` alone may set. */
export const actorKey = 'x-tessera-actor';

/** The options of a call that `admin` makes on behalf of an administrator. */
export function onBehalfOf(call: CallOptions, { type, tenantId, id }: Actor): CallOptions {
  return { ...call, headers: { ...headersOf(call), [actorKey]: `${type} ${tenantId} ${id}` } };
}

/** The actor that metadata names; undefined for anything else. */
export function readActor(text: string | undefined): Actor | undefined {
  const [, type, tenantId = '', id = ''] =
    /^(user|client|operator) ([a-z0-9-]*) ([!-~]{1,128})$/.exec(text ?? '') ?? [];
  return type === undefined ? undefined : { type: type as Actor['type'], tenantId, id };
}
