import type { FastifyRequest } from 'fastify';
import { durationBuckets, metrics, type Counter, type Histogram } from '@tessera/telemetry';

const requests = metrics.counter({
  name: 'tessera_http_requests_total',
  help: 'Requests by endpoint, with the status and the error code that were answered.',
  labels: ['endpoint', 'method', 'status', 'error'],
});
const seconds = metrics.histogram({
  name: 'tessera_http_request_seconds',
  help: 'From the arrival of a request to the end of its answer.',
  labels: ['endpoint'],
  buckets: durationBuckets,
});

/** Measures a request that was answered, by the path of its route: addresses themselves carry codes. */
export function requestMetrics(): (request: FastifyRequest, status: number, milliseconds: number) => void {
  const counters = new Map<string, Counter>();
  const durations = new Map<string, Histogram>();
  return ({ route, method, failure = '' }, status, milliseconds) => {
    const endpoint = route ?? '(none)';
    const known = route === undefined ? '(any)' : method;
    const key = `${known} ${endpoint} ${status} ${failure}`;
    let counter = counters.get(key);
    if (counter === undefined) {
      counter = requests.with(endpoint, known, String(status), failure);
      counters.set(key, counter);
    }
    counter.add();
    const duration = durations.get(endpoint) ?? seconds.with(endpoint);
    durations.set(endpoint, duration);
    duration.observe(milliseconds / 1000);
  };
}
