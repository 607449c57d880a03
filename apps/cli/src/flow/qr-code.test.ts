import { encode } from 'uqr';
import { describe, expect, it } from 'vitest';
import { qrCode } from './qr-code.ts';

const text = 'https://id.example.com/device?user_code=WDJB-MJHT';
/** Whether the upper and the lower module of a character are light. */
const light: Readonly<Record<string, readonly [boolean, boolean]>> = {
  '█': [true, true],
  '▀': [true, false],
  '▄': [false, true],
  ' ': [false, false],
};

describe('qrCode', () => {
  it('draws every module, light ones as white blocks on black', () => {
    const lines = qrCode(text).split('\n');
    expect(lines[0]).toMatch(/^ {2}\u001b\[38;5;231m\u001b\[48;5;16m█+\u001b\[0m$/);
    const drawn = lines.map((line) => Array.from(line.replaceAll(/\u001b\[[\d;]*m/g, '').slice(2)));
    const { data } = encode(text, { border: 2 });
    data.forEach((row, y) => {
      row.forEach((isDark, x) => {
        expect(light[drawn[y >> 1]?.[x] ?? '']?.[y % 2], `module ${x}, ${y}`).toBe(!isDark);
      });
    });
  });
});
