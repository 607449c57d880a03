/** The set-ups on which the end-to-end suite runs, unchanged. */
export const setUps = ['compact-embedded', 'compact', 'split', 'split-mtls'] as const;

/** Those of `npm test`: the others differ from them by a store, or by certificates, that have tests of their own. */
export const gatedSetUps: readonly string[] = ['compact', 'split-mtls'];
