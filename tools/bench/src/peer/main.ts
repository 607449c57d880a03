/** The peer as a process of its own. In addition to its public port it has one where the benchmark asks for codes and tokens. */
import { createServer } from 'node:http';
import { mintedClient, mintedKinds } from '../operations/minted.ts';
import { makers } from './mint.ts';
import { createPeer } from './provider.ts';

const [port = '', mintPort = ''] = process.argv.slice(2);
const provider = createPeer(`http://127.0.0.1:${port}`);

async function mint(url: URL): Promise<string> {
  const kind = mintedKinds.find((known) => url.pathname === `/${known}`);
  const client = await provider.Client.find(mintedClient.clientId);
  if (kind === undefined || client === undefined) throw new Error('there is nothing of this kind');
  const made = [];
  for (let index = 0; index < Number(url.searchParams.get('count')); index += 1) {
    made.push(await makers[kind](provider, client, index));
  }
  return JSON.stringify(made);
}

createServer(provider.callback()).listen(Number(port), '127.0.0.1');
createServer((request, response) => {
  mint(new URL(request.url ?? '', 'http://here')).then(
    (text) => response.end(text),
    (error: unknown) => {
      response.statusCode = 500;
      response.end(error instanceof Error ? error.stack : '');
    },
  );
}).listen(Number(mintPort), '127.0.0.1');
