import { Code, ConnectError } from '@connectrpc/connect';
import { BadRequestSchema } from '@tessera/proto-gen/error-details';

/** Why a field of a request is refused: its path, such as `user.roles[1]`, and the end of a sentence. */
export interface FieldViolation {
  readonly field: string;
  readonly description: string;
}

/** They travel in a gRPC trailer. */
const mostViolations = 20;

/**
 * An error of fields of a request, as `google.rpc.BadRequest` (AIP-193), with its first twenty violations.
 * @param code `InvalidArgument`, unless a field collides with another record
 */
export function invalidFields(
  violations: readonly FieldViolation[],
  code: Code = Code.InvalidArgument,
): ConnectError {
  const sent = violations.slice(0, mostViolations);
  const message = sent.map(({ field, description }) => `${field}: ${description}`).join('\n');
  const detail = { desc: BadRequestSchema, value: { fieldViolations: sent } };
  return new ConnectError(message, code, undefined, [detail]);
}

/** What an error says about fields of the request; empty if nothing. */
export function fieldViolations(error: ConnectError): FieldViolation[] {
  return error
    .findDetails(BadRequestSchema)
    .flatMap((detail) => detail.fieldViolations.map(({ field, description }) => ({ field, description })));
}
