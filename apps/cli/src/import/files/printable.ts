/** A text of a file for a terminal, which could take control and format characters for more than text. */
export function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '?');
}
