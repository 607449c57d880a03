import { OAuthError } from '@tessera/oauth';
import type { Dialect } from './dialect.ts';
import type { Field } from './parameter-names.ts';

/** The parameters of one request, read by their inside names. One sent without a value counts as missing. */
export interface RequestParameters {
  get(field: Field): string | undefined;
  /** '' when missing, as the messages between services have it. */
  text(field: Field): string;
  /** Throws `invalid_request` with `message` when missing. */
  required(field: Field, message: string): string;
}

export function requestParameters(values: ReadonlyMap<string, string>, dialect: Dialect): RequestParameters {
  const text = (field: Field) => values.get(dialect.names.get(field) ?? '') ?? '';
  const get = (field: Field) => {
    const value = text(field);
    return value === '' ? undefined : value;
  };
  return {
    get,
    text,
    required: (field, message) => {
      const value = get(field);
      if (value === undefined) throw new OAuthError('invalid_request', message);
      return value;
    },
  };
}
