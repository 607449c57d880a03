/** What became of a change, by the name that the cookie for the next page has. */
export const accountResults = {
  confirmed: 'You have confirmed that it is you. You can make the change now.',
  passkey_removed: 'The passkey is removed. You are signed out everywhere else.',
  totp_removed: 'The authenticator app is removed. You are signed out everywhere else.',
  last_way_in: 'You could not sign in without this passkey. Set a password or create another passkey first.',
  passkey_renamed: 'The passkey has another name now.',
  session_ended: 'That browser is signed out.',
  sessions_ended: 'All other browsers are signed out.',
  access_revoked: 'The application has no access any more. What it has just got may work for some minutes.',
  unknown: 'It was no longer there. Nothing has changed.',
  bad_text: 'Enter a name with at most 64 characters.',
  signed_out: 'You were signed out. Nothing has changed.',
} as const;

export type AccountResult = keyof typeof accountResults;

/** The sentence of a result; undefined for what is none. */
export function accountNotice(result: string): string | undefined {
  return (accountResults as Readonly<Record<string, string>>)[result];
}
