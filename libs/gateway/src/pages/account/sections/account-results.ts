/** What became of a change, by the name that the cookie for the next page has. */
export const accountResults = {
  confirmed: 'You have confirmed that it is you. You can make the change now.',
  name_changed: 'Your name is changed.',
  bad_name: 'Enter a name with at most 200 characters.',
  email_proposed:
    'If this address can be yours, we have sent a link to it. Open the link in this browser within one day.',
  bad_email: 'Enter an email address.',
  read_only: 'Your organization manages this. Nothing has changed.',
  last_administrator:
    'Nobody else can administer your organization. First give the role to somebody who can sign in.',
  passkey_removed: 'The passkey is removed. You are signed out everywhere else.',
  totp_removed: 'The authenticator app is removed. You are signed out everywhere else.',
  last_way_in: 'You could not sign in without this passkey. Set a password or create another passkey first.',
  passkey_renamed: "You've renamed the passkey.",
  session_ended: 'That browser is signed out.',
  sessions_ended: 'All other browsers are signed out.',
  provider_linked: 'You can sign in with it now.',
  provider_unlinked: 'You can no longer sign in with it. You are signed out everywhere else.',
  last_provider: 'You could not sign in without it. Set a password or create a passkey first.',
  link_taken:
    'Nothing was linked. The account that you used there belongs to another account here, or you have linked another one.',
  link_denied: 'Nothing was linked, because you were not signed in there. Try again.',
  link_unreachable: 'Your organization cannot be reached now. Try again later.',
  link_failed: 'Nothing was linked. The answer could not be used. Try again.',
  access_revoked: 'The application no longer has access. What it has just got may work for some minutes.',
  unknown: 'It no longer exists, so nothing has changed.',
  bad_text: 'Enter a name with at most 64 characters.',
  signed_out: 'You were signed out. Nothing has changed.',
} as const;

export type AccountResult = keyof typeof accountResults;

/** What became of a link, by its problem. */
export function resultOfLink(problem: string): AccountResult {
  switch (problem) {
    case '':
      return 'provider_linked';
    case 'taken':
      return 'link_taken';
    case 'denied_answer':
      return 'link_denied';
    case 'unreachable':
      return 'link_unreachable';
    default:
      return 'link_failed';
  }
}

/** The sentence of a result; undefined for what is none. */
export function accountNotice(result: string): string | undefined {
  return (accountResults as Readonly<Record<string, string>>)[result];
}
