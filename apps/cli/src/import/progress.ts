import type { Terminal } from '../terminal.ts';

/** What a person at the terminal sees of work with many calls. */
export interface Progress {
  /** For each of the calls: it has no waiting line of its own, and says nothing twice. */
  readonly terminal: Terminal;
  /** Says how far it is. */
  is(what: string): void;
  end(): void;
}

export function progressAt(terminal: Terminal): Progress {
  let what = 'Importing';
  const line = terminal.waiting?.(() => what);
  const said = new Set<string>();
  const { waiting: _, ...quiet } = terminal;
  return {
    terminal: {
      ...quiet,
      say(text) {
        if (said.has(text)) return;
        said.add(text);
        terminal.say(text);
      },
    },
    is(now) {
      what = now;
    },
    end: () => line?.end(),
  };
}
