/**
 * Approval somewhere else: the device flow (RFC 8628) and backchannel authentication (CIBA Core). Owns the Redis keys
 * `device:*` (pending requests and their polling) and the Postgres schema `device` (what people decided, and what clients
 * are still to be told of it). It alone speaks to systems of others. It never issues a token, never stores a device code,
 * user code, auth_req_id or token in clear, and never lets Redis alone approve.
 */
export { buildDevice, migrations } from './build.ts';
export type { DevicePeers } from './build.ts';
export { deviceConfig } from './config.ts';
export type { DeviceConfig } from './config.ts';
export { createWebhookKeys } from './webhook/keys.ts';
