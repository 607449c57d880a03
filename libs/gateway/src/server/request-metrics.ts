import type { FastifyRequest } from 'fastify';
import { metrics } from '@tessera/telemetry';

const requests = metrics.counter({
  name: 'tessera_http_requests_total',
  help: 'Requests by endpoint, with the status and the error code that were answered; status 499 if the client left before the answer.',
  labels: ['endpoint', 'method', 'status', 'error'],
});
const seconds = metrics.histogram({
  name: 'tessera_http_request_seconds',
  help: 'From the arrival of a request to the end of its answer.',
  labels: ['endpoint'],
});

/** Measures a request at its end by the path of its route: URLs carry codes. An unknown route has no method either. */
export function measureRequest(request: FastifyRequest, status: number, milliseconds: number): void {
  const { route, method, failure = '' } = request;
  const endpoint = route ?? '(none)';
  requests.labels(endpoint, route === undefined ? '(any)' : method, String(status), failure).inc();
  seconds.labels(endpoint).observe(milliseconds / 1000);
}
