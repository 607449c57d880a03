/**
 * The Unicode normal form of the first `longest` UTF-16 code units of a text. The time to normalize grows with the
 * square of the combining marks in a row, so text from outside is cut before.
 */
export function normalizeStart(text: string, form: 'NFC' | 'NFKC' | 'NFKD', longest: number): string {
  return text.slice(0, longest).normalize(form);
}
