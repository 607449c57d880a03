/**
 * How long a copy of the public keys is used, in milliseconds, while `keys` cannot be asked whether it still holds. A key that
 * was withdrawn must not be trusted, or published, for ever by who did not hear of it.
 */
export const keyCopyTrustedForMs = 24 * 3_600_000;
