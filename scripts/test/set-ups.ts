/** The set-ups on which the end-to-end suite runs, unchanged. */
export const setUps = ['compact-embedded', 'compact', 'split', 'split-mtls'] as const;
export type SetUp = (typeof setUps)[number];
