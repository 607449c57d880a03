/**
 * How long a copy of the public keys is used while `keys` is unavailable, in milliseconds. After that a withdrawn key
 * is no longer trusted or published by a process that could not learn of the withdrawal.
 */
export const keyCopyTrustedForMs = 24 * 3_600_000;
