/** The set-ups on which the end-to-end suite runs, unchanged. */
export const setUps = ['compact-embedded', 'compact', 'split', 'split-mtls'] as const;

/** Those of `npm test`: the others differ from them by a store, or by certificates, that have tests of their own. */
export const gatedSetUps: readonly string[] = ['compact', 'split-mtls'];

/** Suites that `npm test` runs on the other set-up alone. What applies to every request it runs on both. */
export const suitesElsewhere: Readonly<Record<string, string>> = {
  // Changes travel between processes.
  compact: 'changes',
  'split-mtls': 'decisions',
};
