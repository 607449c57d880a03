/**
 * Ways to sign in that a tenant may allow besides the usual ones, each with what it allows, in Markdown. A process offers none that it does not
 * know.
 */
export const optionalMethods: Readonly<Record<string, string>> = {};
