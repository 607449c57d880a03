/** An e-mail address as somebody is shown it who knows it: its first character and its domain. */
export function maskedAddress(email: string): string {
  const at = email.lastIndexOf('@');
  const [first = ''] = email.slice(0, Math.max(at, 0));
  return at < 0 ? '' : `${first}***${email.slice(at)}`;
}
