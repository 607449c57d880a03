import type { JsonObject } from '@bufbuild/protobuf';
import type { Tenant } from '../tenant.ts';

/** The values of a request that only a flow gives, made anew for each try. */
export type Values = (tenant: Tenant) => JsonObject | Promise<JsonObject>;

/** How a method is tried, if not with the usual values alone. */
export interface Flow {
  readonly what?: string;
  readonly values?: Values;
  /** Whether the values of the request are still worth what they were; absent: the request itself tells. */
  worth?(tenant: Tenant, request: JsonObject): Promise<boolean>;
  /** Its own tenant gets the same answer for values that nobody has yet. */
  readonly isNew?: true;
  /** Places of values that are nobody's alone, each with the reason. */
  readonly known?: Readonly<Record<string, string>>;
}

/** By the name of the method: how it is tried, or the values alone. */
export type Flows = Readonly<Record<string, Flow | Flow[] | Values>>;

/** Nobody learns whether there is such a person, or who has an address. */
export const untold = { isNew: true } as const;

export const newPassword = 'slide-rule-1850-new';
