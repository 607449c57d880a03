/** After which somebody at a terminal wants to know that it goes on. */
const silenceMs = 2000;
/** To the start of the line, and nothing on it (ECMA-48, EL). */
const emptyLine = '\r\u001b[K';

/** A terminal that a person sees; only what of `process.stderr` is used. */
export interface Screen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** One line at the end of what a person sees. */
export interface WaitingLine {
  /** Shows what takes longer than two seconds, and for how long, until it ends. A function says how far it is. */
  waiting(what: string | (() => string)): { end(): void };
  /** Makes room for other text. */
  clear(): void;
}

/** Where nobody sees it, as in a pipeline, nothing is written. */
export function waitingLine(screen: Screen, now: () => number): WaitingLine {
  let shown = '';
  function clear(): void {
    if (shown !== '') screen.write(emptyLine);
    shown = '';
  }
  return {
    clear,
    waiting(what) {
      if (screen.isTTY !== true) return { end: () => undefined };
      const begun = now();
      const timer = setInterval(() => {
        const passed = now() - begun;
        if (passed < silenceMs) return;
        const text = `${typeof what === 'string' ? what : what()}: ${Math.floor(passed / 1000)} s`;
        screen.write(`${text.length < shown.length ? emptyLine : '\r'}${text}`);
        shown = text;
      }, 1000);
      return {
        end() {
          clearInterval(timer);
          clear();
        },
      };
    },
  };
}
