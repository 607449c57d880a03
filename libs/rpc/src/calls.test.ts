import { streamContract } from './streams.contract.ts';
import { unaryCallContract } from './unary-calls.contract.ts';
import { inProcess, overLoopback, overMutualTls, overSharedToken } from './testing/set-ups.ts';
import type { SetUp } from './testing/set-ups.ts';

const ways: [string, SetUp][] = [
  ['in process', inProcess],
  ['over loopback without credentials', overLoopback],
  ['with a shared token', overSharedToken],
  ['with mutual TLS', overMutualTls],
];

for (const [way, setUp] of ways) {
  unaryCallContract(way, setUp);
  streamContract(way, setUp);
}
