/**
 * The peer as a process of its own. In addition to its own endpoints it has one that signs in a person without a page.
 */
import { createServer } from 'node:http';
import { activeClients, usualPopulation } from '../declared-state.ts';
import { createPeer, day } from './provider.ts';

const [port = '', seed = ''] = process.argv.slice(2);
const clients = activeClients({ seed, population: usualPopulation });
const provider = createPeer(`http://127.0.0.1:${port}`, clients);
const answer = provider.callback();

createServer((request, response) => {
  const accountId = /^\/session\/(.+)$/.exec(request.url ?? '')?.[1];
  if (accountId === undefined) return answer(request, response);
  const session = new provider.Session({ accountId, loginTs: Math.floor(Date.now() / 1000) });
  void session
    .save(day)
    .then(() => response.writeHead(204, { 'set-cookie': `_session=${session.jti}` }).end());
}).listen(Number(port), '127.0.0.1');
