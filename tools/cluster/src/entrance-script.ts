/** Runs in a pod of the cluster, with Node alone: takes TLS off requests and sends them on, as an Ingress does. */
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:https';

/** Where to send requests, and the folder with the certificate. */
const [service = '', folder = ''] = process.argv.slice(2);

const pair = { cert: readFileSync(`${folder}/tls.crt`), key: readFileSync(`${folder}/tls.key`) };
createServer(pair, (incoming, outgoing) => {
  const onwards = request(new URL(incoming.url ?? '', service), {
    method: incoming.method ?? 'GET',
    headers: incoming.headers,
  });
  onwards.on('error', () => outgoing.writeHead(502).end());
  onwards.on('response', (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    response.pipe(outgoing);
  });
  incoming.pipe(onwards);
}).listen(8443);
process.once('SIGTERM', () => process.exit(0));
