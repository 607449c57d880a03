/**
 * A code by mail where two factors are needed, after the password, for people who have no second factor of their own.
 */
export const mailCodeSecond = 'mail-code-second';
/** A code by mail in place of the password, too. */
export const mailCodeAlone = 'mail-code';

/**
 * Ways to sign in that a tenant may allow besides the usual ones, each with what it allows, in Markdown. A process
 * offers none that it does not know.
 */
export const optionalMethods: Readonly<Record<string, string>> = {
  [mailCodeSecond]:
    'a code by mail is the second factor of people who have none, where one is needed, in place of setting up an app',
  [mailCodeAlone]: 'a code by mail also signs people in without a password',
};
