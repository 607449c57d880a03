import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { waitingLine } from './waiting-line.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** What a screen shows while something takes so long, and afterwards; other text is written after `until` seconds. */
function shown(seconds: number, isTTY?: boolean, until?: number, what: string | (() => string) = 'Applying') {
  let text = '';
  const screen = { ...(isTTY !== undefined && { isTTY }), write: (more: string) => (text += more) };
  const line = waitingLine(screen, () => Date.now());
  const waiting = line.waiting(what);
  vi.advanceTimersByTime((until ?? seconds) * 1000);
  if (until !== undefined) {
    line.clear();
    screen.write('Other text.\n');
    vi.advanceTimersByTime((seconds - until) * 1000);
  }
  waiting.end();
  vi.advanceTimersByTime(60_000);
  return text;
}

it('says from the third second on what takes how long, and leaves the line empty', () => {
  expect(shown(4.5, true)).toBe('\rApplying: 2 s\rApplying: 3 s\rApplying: 4 s\r\u001b[K');
});

it('makes room for other text, and goes on below it', () => {
  expect(shown(4.5, true, 3.5)).toBe(
    '\rApplying: 2 s\rApplying: 3 s\r\u001b[KOther text.\n\rApplying: 4 s\r\u001b[K',
  );
});

it('says how far it is, and leaves nothing of a longer text', () => {
  const texts = ['Checking 20 of 20', 'Importing 2'];
  expect(shown(3.5, true, undefined, () => texts.shift() ?? '')).toBe(
    '\rChecking 20 of 20: 2 s\r\u001b[KImporting 2: 3 s\r\u001b[K',
  );
});

it('says nothing of what is done sooner', () => {
  expect(shown(1.9, true)).toBe('');
});

it.each([false, undefined])('says nothing where nobody sees it: a terminal is %s', (isTTY) => {
  expect(shown(30, isTTY)).toBe('');
});
