import { expect, it, onTestFinished } from 'vitest';
import { createLogger } from './log.ts';
import { logConsole } from './console.ts';

it('what a library prints on the console is one line of the log, however often it prints it', () => {
  const { console: before } = globalThis;
  onTestFinished(() => {
    globalThis.console = before;
  });
  const lines: unknown[] = [];
  logConsole(
    createLogger(
      { service: 'test', level: 'info' },
      { write: (line: string) => void lines.push(JSON.parse(line)) },
    ),
  );
  for (let time = 0; time < 3; time += 1) globalThis.console.warn('[WARN] %s is\nlost', 'code=canary');
  globalThis.console.error(new Error('unhandled'));
  expect(lines).toMatchObject([
    { level: 'warn', event: 'library.printed', message: '[WARN] code=[redacted] is\nlost' },
    { level: 'warn', message: expect.stringMatching(/^Error: unhandled/) as string },
  ]);
});
