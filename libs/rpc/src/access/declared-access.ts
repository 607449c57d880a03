import { getOption, hasOption, ScalarType, type DescMethod } from '@bufbuild/protobuf';
import { access } from '@tessera/proto-gen/access';
import { methodName } from '@tessera/telemetry';
import type { CallerName } from '../call.ts';
import { isCallerName } from './caller-of-certificate.ts';

/** Who may call a method, as its proto says in the option `tessera.access.v1.access`. */
export interface DeclaredAccess {
  readonly callers: readonly CallerName[];
  /** Of access tokens, any of which opens the method; empty: no access token does. */
  readonly scopes: readonly string[];
  /** The field of the request, by its name in TypeScript, that names the tenant; undefined without one. */
  readonly tenantField: string | undefined;
  /** Whether its requests may have texts that no store takes. */
  readonly anyText: boolean;
}

/** @throws Error for a method that does not say who may call it, or names a caller or a field that does not exist */
export function declaredAccess(method: DescMethod): DeclaredAccess {
  const name = methodName(method);
  if (!hasOption(method, access)) throw new Error(`${name} does not declare who may call it`);
  const { callers, scopes, tenantField, anyText } = getOption(method, access);
  if (callers.length === 0 && scopes.length === 0) throw new Error(`${name} is declared for no caller`);
  return {
    callers: callers.map((caller) => {
      if (isCallerName(caller)) return caller;
      throw new Error(`${name} is declared for "${caller}", which is no caller`);
    }),
    scopes,
    tenantField: tenantField === '' ? undefined : localNameOf(method, tenantField),
    anyText,
  };
}

function localNameOf(method: DescMethod, field: string): string {
  const found = method.input.fields.find((candidate) => candidate.name === field);
  if (found?.scalar === ScalarType.STRING && found.fieldKind === 'scalar') return found.localName;
  throw new Error(
    `${methodName(method)}: "${field}", declared to name the tenant, is no text in its request`,
  );
}
