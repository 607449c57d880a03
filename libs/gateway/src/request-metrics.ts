import type { FastifyInstance } from 'fastify';
import { durationBuckets, metrics, type Counter, type Histogram } from '@tessera/kit';

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

/** Measures every request, by the path of its route: addresses themselves carry codes. */
export function measureRequests(app: FastifyInstance): void {
  const counters = new Map<string, Counter>();
  const durations = new Map<string, Histogram>();
  app.addHook('onResponse', (request, reply, done) => {
    const endpoint = request.routeOptions.url ?? '(none)';
    const method = request.routeOptions.url === undefined ? '(any)' : request.method;
    const key = `${method} ${endpoint} ${reply.statusCode} ${request.failure ?? ''}`;
    let counter = counters.get(key);
    if (counter === undefined) {
      counter = requests.with(endpoint, method, String(reply.statusCode), request.failure ?? '');
      counters.set(key, counter);
    }
    counter.add();
    const duration = durations.get(endpoint) ?? seconds.with(endpoint);
    durations.set(endpoint, duration);
    duration.observe(reply.elapsedTime / 1000);
    done();
  });
}
