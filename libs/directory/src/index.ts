/**
 * The directory owns the durable records: tenants, applications and their secrets, API resources, scopes, roles, users
 * and their password hashes. It reads, compares secrets and passwords, applies the declared state and tells what changed.
 * It never issues anything, never gives out a hash, and never lets one tenant's id find another tenant's record.
 */
export { applyAtStart, applyConfig } from './apply/apply-at-start.ts';
export { applyFile, diffFile, type ApplyFileOptions } from './apply/apply-file.ts';
export { buildDirectory, migrations } from './build.ts';
export { directoryConfig, type DirectoryConfig } from './config.ts';
export { DeclaredStateError, type Problem } from './declared/positions.ts';
export { bumpEpoch } from './epoch.ts';
export { resolveDeclaredState, type ReferenceSources } from './declared/resolve.ts';
