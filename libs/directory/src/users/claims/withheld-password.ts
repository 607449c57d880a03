/**
 * Declared in place of a password that does not come, because it alone would not have let its person in: a hash that no
 * password has. It is stored as no password, and what the person sets later stays, however often it is declared.
 */
export const withheldPassword = `$pbkdf2-sha256$i=27500$${'A'.repeat(22)}$${'A'.repeat(43)}`;
