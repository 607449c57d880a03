import { clientCredentials } from './client-credentials.ts';
import { codeGrants } from './code-grants.ts';
import { introspection } from './introspection.ts';
import type { OperationName } from './names.ts';
import type { Operation } from './operation.ts';
import { others } from './others.ts';

const operations = new Map(
  [...clientCredentials, ...codeGrants, ...introspection, ...others].map((operation) => [
    operation.name,
    operation,
  ]),
);

export function operationNamed(name: OperationName): Operation {
  const operation = operations.get(name);
  if (operation === undefined) throw new Error(`there is no operation ${name}`);
  return operation;
}
