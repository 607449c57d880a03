/** What records and people stand on; nothing here knows a kind of record. */
export { isAdministered, noteAdministered } from './administered.postgres.ts';
export { insertAuditRows, type AuditRuntime } from './audit-rows.postgres.ts';
export { concludeChange } from './conclude-change.postgres.ts';
export { ownParameters } from './hashing/cost.ts';
export { HashQueue } from './hashing/hash-queue.ts';
export { decodePasswordHash } from './hashing/phc.ts';
export { signInSource } from './hashing/sign-in-source.ts';
export { lockTenant } from './locks.postgres.ts';
export { newPasswordProblem, passwordProblem } from './passwords/password-policy.ts';
export { Passwords } from './passwords/passwords.ts';
export type { PersonId } from './person-id.ts';
export { notFound, refuseOtherVersion, refuseSelf } from './refusals.ts';
export { createSealing, derivedKey } from './sealing.ts';
export { createTotpSealing, type TotpSealing } from './totp-sealing.ts';
export { secondFactorsOfUser } from './second-factors-of-user.ts';
export { personValidFrom } from './valid-from.ts';
export {
  areActive,
  hasNoWayIn,
  isOpenLink,
  signInCounts,
  waysIn,
  waysInOf,
  type WayIn,
} from './ways-in.postgres.ts';
