/** Whether a store takes a text as it is: Postgres has none with U+0000, and UTF-8 no half of a surrogate pair. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** The first `longest` UTF-16 code units of a text, or one less: it never ends with half of a surrogate pair. */
export function startOf(text: string, longest: number): string {
  const last = text.codePointAt(longest - 1) ?? 0;
  return text.slice(0, last > 0xff_ff ? longest - 1 : longest);
}
