import { clientCredentials } from './client-credentials.ts';
import { codeGrants } from './code-grants.ts';
import { introspection } from './introspection.ts';
import type { Operation } from './operation.ts';
import { others } from './others.ts';

const operations = { ...clientCredentials, ...codeGrants, ...introspection, ...others };

export type OperationName = keyof typeof operations;

/** In the order of the table. */
export const operationNames = Object.keys(operations) as OperationName[];

export const operationNamed = (name: OperationName): Operation => operations[name];
