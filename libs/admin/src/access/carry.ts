import type { DescribePlanResponse } from '@tessera/proto-gen/plan';
import type { CallOptions, Principal } from '@tessera/rpc';
import type { NamedGift } from './gifts.ts';

/** A message whose fields are known by their names alone. */
export type Fields = Readonly<Record<string, unknown>>;

export type Send = (request: Fields, call: CallOptions) => Promise<Fields>;

/** Tells what a document would do, in parts. */
export type DescribePlan = (request: Fields, call: CallOptions) => AsyncIterable<DescribePlanResponse>;

/** Carries out a request of an administrator if it gives nothing that they do not hold. Throws ConnectError. */
export type Carry = (request: Fields, principal: Principal, call: () => CallOptions) => Promise<Fields>;

/** Throws PermissionDenied for gifts, in a tenant, that an administrator does not hold. */
export type RefuseUnheld = (
  gifts: readonly NamedGift[],
  tenantId: unknown,
  principal: Principal,
  call: () => CallOptions,
) => Promise<void>;
