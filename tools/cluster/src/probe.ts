import { runPod, type Namespace } from './kubernetes.ts';

export interface Address {
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

// A policy may reach a new pod a little after its start: the last of ten rounds counts, or the first that reaches
// nothing.
const script = `
const { connect } = require('node:net');
const { setTimeout: sleep } = require('node:timers/promises');
const addresses = JSON.parse(process.argv[1]);
const tried = ({ name, host, port }) => new Promise((done) => {
  const socket = connect({ host, port, timeout: 3000 });
  const end = (answer) => { socket.destroy(); done(answer); };
  socket.once('connect', () => end(name)).once('timeout', () => end()).once('error', () => end());
});
async function main() {
  let reached = addresses;
  for (let round = 0; round < 10 && reached.length > 0; round += 1) {
    await sleep(1000);
    reached = (await Promise.all(addresses.map(tried))).filter(Boolean);
  }
  console.log(JSON.stringify(reached));
}
main();
`;

/** Which addresses a pod without any right reaches, by name. */
export async function probe(on: Namespace, image: string, addresses: readonly Address[]): Promise<string[]> {
  const command = ['node', '--eval', script, JSON.stringify(addresses)];
  return JSON.parse(await runPod(on, { name: 'probe', image, command })) as string[];
}
