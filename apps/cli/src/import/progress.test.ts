import { expect, it } from 'vitest';
import type { Terminal } from '../terminal.ts';
import { progressAt } from './progress.ts';

it('shows one line for all calls, which say nothing twice and show none of their own', () => {
  const said: string[] = [];
  const shown: string[] = [];
  let ended = 0;
  const terminal: Terminal = {
    environment: {},
    out: () => undefined,
    say: (text) => said.push(text),
    input: async () => '',
    fetch,
    sleep: async () => undefined,
    now: () => 0,
    waiting(what) {
      const look = () => shown.push(typeof what === 'string' ? what : what());
      look();
      return {
        end() {
          look();
          ended += 1;
        },
      };
    },
  };
  const progress = progressAt(terminal);
  progress.is('Importing, 250 of 600 people');
  for (const text of ['once', 'twice', 'once']) progress.terminal.say(text);
  expect(progress.terminal.waiting).toBeUndefined();
  progress.end();
  expect([shown, said, ended]).toEqual([['Importing', 'Importing, 250 of 600 people'], ['once', 'twice'], 1]);
});
