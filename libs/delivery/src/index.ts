/**
 * Deliveries to clients: which due ones are sent when, with which bounds, and when they are tried again. It never
 * stores anything and knows no message: services own their queues and say what is sent.
 *
 *     device, token ─> worker   claims due rows, within bounds per application and process
 *                        └─> deliver (of the service) ─> attempt   done, again later, or given up
 *                                                          └─> send (of outbound) ──> HTTPS to the client
 */
export { attempt, type Attempted, type RetryRules } from './attempt.ts';
export { leaseSeconds, startWorker, type Due, type Worker } from './worker.ts';
