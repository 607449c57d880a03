/**
 * Approval on another device: the device flow (RFC 8628) and backchannel authentication (CIBA Core). Owns the Redis keys
 * `device:*` (pending requests and their polling) and the Postgres schema `device` (decisions and their pending deliveries).
 * It is the only service that calls systems of clients and tenants. It never issues a token, never stores a device code,
 * user code, auth_req_id or token in clear, and never approves on the word of Redis alone.
 */
export { buildDevice, migrations } from './wiring.ts';
export type { DevicePeers } from './wiring.ts';
export { deviceConfig } from './config.ts';
export type { DeviceConfig } from './config.ts';
export { createWebhookKeys } from './webhook/keys.ts';
