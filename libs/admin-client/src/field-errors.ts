import type { ConnectError } from '@connectrpc/connect';
import { BadRequestSchema } from '@tessera/proto-gen/error-details';

/** Why a field of a request was refused: its path, such as `user.roles[1]`, and the end of a sentence. */
export interface FieldError {
  readonly field: string;
  readonly description: string;
}

/** What an error says about fields of the request (`google.rpc.BadRequest`, AIP-193); empty if nothing. */
export function fieldErrors(error: ConnectError): FieldError[] {
  return error
    .findDetails(BadRequestSchema)
    .flatMap(({ fieldViolations }) =>
      fieldViolations.map(({ field, description }) => ({ field, description })),
    );
}
