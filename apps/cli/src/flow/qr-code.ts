import { renderUnicodeCompact } from 'uqr';

const white = '\u001b[38;5;231m';
const onBlack = '\u001b[48;5;16m';
const reset = '\u001b[0m';

/**
 * A QR code as lines for a terminal, two modules to a character. The blocks are the light modules, in white on black
 * whatever the colours of the terminal, with a quiet zone around them, as scanners expect (ISO/IEC 18004).
 */
export function qrCode(text: string): string {
  const lines = renderUnicodeCompact(text, { border: 2 }).split('\n');
  return lines.map((line) => `  ${white}${onBlack}${line}${reset}`).join('\n');
}
