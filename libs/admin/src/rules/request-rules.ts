import { create, hasOption, type DescMessage, type DescMethod, type Message } from '@bufbuild/protobuf';
import type { Validator, Violation } from '@bufbuild/protovalidate';
import { field as fieldRules } from '@tessera/proto-gen/validate';
import { invalidFields, type DescService } from '@tessera/rpc';

/**
 * Throws InvalidArgument for a request that breaks rules of its proto (`buf.validate.field`), and names each field that
 * does.
 */
export type CheckRequest = (request: Message) => Promise<void>;

/** The check of a method's requests; undefined where no field of them has a rule. */
export function requestCheck({ input }: DescMethod): CheckRequest | undefined {
  if (!hasRules(input)) return undefined;
  return async (request) => {
    const result = (await sharedValidator()).validate(input, request);
    if (result.kind === 'error') throw result.error;
    if (result.kind === 'invalid') throw invalidFields(result.violations.map(fieldViolation));
  };
}

/**
 * Loads and compiles the rules of these services, so that no request waits for it: it takes a tenth of a second of the
 * processor.
 */
export async function loadRequestRules(services: readonly DescService[]): Promise<void> {
  const inputs = services.flatMap(({ methods }) => methods.map(({ input }) => input));
  const ruled = inputs.filter((input) => hasRules(input));
  if (ruled.length === 0) return;
  const validator = await sharedValidator();
  for (const input of ruled) validator.validate(input, create(input));
}

let validator: Promise<Validator> | undefined;

/**
 * One for the process, as it keeps the rules that it compiled. Processes that serve no administration do without the
 * library.
 */
async function sharedValidator(): Promise<Validator> {
  validator ??= import('@bufbuild/protovalidate').then(({ createValidator }) => createValidator());
  return validator;
}

function hasRules({ fields }: DescMessage, above: ReadonlySet<DescMessage> = new Set()): boolean {
  return fields.some((field) => {
    if (hasOption(field, fieldRules)) return true;
    const { message } = field;
    return message !== undefined && !above.has(message) && hasRules(message, new Set([...above, message]));
  });
}

/** The path has the names of JSON. */
function fieldViolation({ field: path, message }: Violation) {
  const field = path.reduce((before, step) => {
    if (step.kind === 'list_sub') return `${before}[${step.index}]`;
    const name =
      step.kind === 'field' ? step.jsonName : step.kind === 'map_sub' ? String(step.key) : step.name;
    return before === '' ? name : `${before}.${name}`;
  }, '');
  return { field, description: message };
}
