import { expect, it } from 'vitest';
import { textOf, textOfInput } from './text-of-file.ts';

const text = '{"realm":"Ünï"}';

it.each([
  ['UTF-8', Buffer.from(text)],
  ['UTF-8 with a byte order mark', Buffer.from(`\uFEFF${text}`)],
  ['UTF-16, the low byte first', Buffer.from(text, 'utf16le')],
  ['UTF-16 with a byte order mark', Buffer.from(`\uFEFF${text}`, 'utf16le')],
  ['UTF-16, the high byte first', Buffer.from(text, 'utf16le').swap16()],
  ['UTF-16 with the other byte order mark', Buffer.from(`\uFEFF${text}`, 'utf16le').swap16()],
])('an export in %s is read', (_, bytes) => expect(textOf(bytes, 'x.json')).toBe(text));

it('an export in another encoding is refused, as its names would be others', () => {
  expect(() => textOf(Buffer.from(text, 'latin1'), 'x.json')).toThrow('The file x.json is not UTF-8.');
  expect(() => textOfInput('{"realm":"\uFFFD"}')).toThrow('Standard input is not UTF-8.');
  expect(textOfInput(`\uFEFF${text}`)).toBe(text);
});
