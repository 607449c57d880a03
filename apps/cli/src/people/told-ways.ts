const names: Readonly<Record<string, string>> = {
  password: 'the password',
  passkey: 'the passkeys',
  provider: 'a linked provider',
  mail_code: 'a code by mail',
};

/** Ways in as people say them. */
export function listed(ways: readonly string[]): string {
  return ways.map((way) => names[way] ?? way).join(' and ');
}

/** How a person can still get in, a line for each kind. */
export function waysLeftLines(waysLeft: readonly string[]): string[] {
  const byMail = 'password_reset_by_mail';
  const ways = waysLeft.filter((way) => way !== byMail);
  return [
    ...(ways.length > 0 ? [`They can still sign in with ${listed(ways)}.\n`] : []),
    ...(waysLeft.includes(byMail) ? ['They can ask for a new password by mail.\n'] : []),
  ];
}
