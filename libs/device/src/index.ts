/**
 * Approval on another device: the device flow (RFC 8628) and backchannel authentication (CIBA Core). Owns the Redis
 * keys `device:*` (pending requests and their polling) and the Postgres schema `device` (decisions and their pending
 * deliveries). It is the only service that calls systems of clients and tenants. It never issues a token, never stores
 * a device code, user code, auth_req_id or token in clear, and never approves on the word of Redis alone.
 *
 *     gateway ─┐            ┌─> start/ ─> device-authorization/, backchannel/   starts of both flows ──> Redis
 *     token ───┴─> service ─┼─> approval/   decisions of users, or of admin for them ──> Postgres, together with a delivery
 *                           └─> polling/    token asks what was decided, and takes it once
 *                 delivery/ ──> prompts (webhook/) and pings over HTTPS
 *     every start, approval and redemption asks directory for application and user
 */
export { buildDevice, migrations } from './wiring.ts';
export type { DevicePeers } from './wiring.ts';
export { deviceConfig } from './config.ts';
export type { DeviceConfig } from './config.ts';
export { createWebhookKeys } from './webhook/webhook-keys.ts';
