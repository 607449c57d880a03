/**
 * In place of a password that does not come, because it alone would not have let its person in: a hash that no password
 * has. An import without any hash leaves the password that an earlier one brought, and one with the same hash leaves
 * what the person has set since.
 */
export const withheldPassword = `$pbkdf2-sha256$i=27500$${'A'.repeat(22)}$${'A'.repeat(43)}`;
