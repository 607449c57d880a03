/** Prints what a check found and sets the exit code. */
export function report(problems: readonly string[], fix: string): void {
  if (problems.length === 0) return;
  console.error(problems.join('\n'));
  console.error(`\n${problems.length} problem${problems.length === 1 ? '' : 's'}. ${fix}`);
  process.exitCode = 1;
}
