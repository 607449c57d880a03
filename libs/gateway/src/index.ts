/**
 * The public HTTP surface: every endpoint of the contract in its two dialects, discovery and keys, the pages, cookies,
 * error shapes, trust in proxies and callers, limits at the edge. It holds nothing durable, decides no protocol rule
 * and signs nothing: it reads a request once, asks one service, and writes the answer in the dialect of the request.
 *
 *     HTTP ─> server/ (hooks, load, body) ─> routes ─┬─> endpoints/ ──> token, device
 *                                                    └─> pages/{sign-in/, approve/, logout/, account/} ──> authorize, device
 *     all of them ─> http/ (caller, parameters, cookies), dialects/, issuer/ (router, keys) ──> keys, directory
 *     an answer goes back the same way: envelope or form dialect, or a page
 */
export { buildGateway } from './wiring.ts';
export type { GatewayOptions, GatewayService } from './wiring.ts';
export { gatewayConfig } from './config.ts';
export type { GatewayConfig } from './config.ts';
export type { GatewayPeers } from './gateway.ts';
export { insecureSettings } from './endpoints/trusted-callers.ts';
