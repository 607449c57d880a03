/**
 * The only place that sends requests to addresses that others chose: over HTTPS, to public addresses, with a time
 * limit. It keeps nothing, tries nothing twice and knows no message. Requests that wait for such a server hold one of
 * its `places`.
 *
 *     device, token (webhooks, callbacks, logout notices) ─> delivery ─> send ──> HTTPS to the receiver
 *     authorize (providers of tenants), directory (keys of trusted issuers) ──> places.hold ─> fetch ─> HTTPS to them
 *                                                      before each connection: └─> public-address ─> resolve-name
 *     libs/delivery says when, and when again
 */
export { createSend, type Message, type Send, type Sent } from './send.ts';
export { createFetch, type Fetch } from './fetch.ts';
export { createPlaces, NoPlaceError, type Places, type Waiting } from './places.ts';
