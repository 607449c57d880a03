/** What the command line needs of the administration API that it calls. */
export { completeImpact } from './complete-impact.ts';
export { findAdministration } from './local-administration.ts';
