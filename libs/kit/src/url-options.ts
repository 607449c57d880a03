/**
 * An option of a URL in a sentence: by its name, unless it may be the end of a password with a slash or a question mark
 * in it.
 * @param query all options, as they were given
 */
export function shownOption(name: string, query: string): string {
  return /^[a-z][\w-]{0,39}$/i.test(name) && !query.includes('@') ? `the option ${name}` : 'an option';
}
