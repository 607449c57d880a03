import { createRegistry, type Registry } from './registry.ts';

export { metricsContentType } from './registry.ts';
export type { Counter, Family, Histogram, Registry, Sample } from './registry.ts';

/** The registry of this process. There is one per process, as there is one `/metrics`; services only add to it. */
export const metrics: Registry = createRegistry();

/** Seconds, from a cached answer to a time-out. */
export const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] as const;
