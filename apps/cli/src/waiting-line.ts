/** After which somebody at a terminal wants to know that it goes on. */
const silenceMs = 2000;

/** A terminal that a person sees; only what of `process.stderr` is used. */
export interface Screen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** One line at the end of what a person sees. */
export interface WaitingLine {
  /** Shows what takes longer than two seconds, and for how long, until it ends. */
  waiting(what: string): { end(): void };
  /** Makes room for other text. */
  clear(): void;
}

/** Where nobody sees it, as in a pipeline, nothing is written. */
export function waitingLine(screen: Screen, now: () => number): WaitingLine {
  let isShown = false;
  function clear(): void {
    // To the start of the line, and nothing on it (ECMA-48, EL).
    if (isShown) screen.write('\r\u001b[K');
    isShown = false;
  }
  return {
    clear,
    waiting(what) {
      if (screen.isTTY !== true) return { end: () => undefined };
      const begun = now();
      const timer = setInterval(() => {
        const passed = now() - begun;
        if (passed < silenceMs) return;
        isShown = true;
        screen.write(`\r${what}: ${Math.floor(passed / 1000)} s`);
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
