import { createSocket } from 'node:dgram';

/** A name server on loopback that gives every name the same addresses (RFC 1035). */
export async function nameServer(addresses: () => readonly string[]) {
  const socket = createSocket('udp4');
  let questions = 0;
  socket.on('message', (query, from) => {
    questions += 1;
    socket.send(answer(query, addresses()), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    port: socket.address().port,
    questions: () => questions,
    close: () => new Promise<void>((resolve) => void socket.close(() => resolve())),
  };
}

const typeA = 1;

/** The header and question of the query, and an A record for each address; none for a question of another type. */
function answer(query: Buffer, addresses: readonly string[]): Buffer {
  const end = query.indexOf(0, 12) + 5;
  const isForAddresses = query.readUInt16BE(end - 4) === typeA;
  const records = isForAddresses ? addresses.map(record) : [];
  const header = Buffer.from(query.subarray(0, 12));
  header.writeUInt16BE(0x8180, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  header.writeUInt32BE(0, 8);
  return Buffer.concat([header, query.subarray(12, end), ...records]);
}

function record(address: string): Buffer {
  const bytes = Buffer.alloc(16);
  // The name is that of the question, at offset 12; class IN; to be kept for no time.
  bytes.writeUInt16BE(0xc00c, 0);
  bytes.writeUInt16BE(typeA, 2);
  bytes.writeUInt16BE(1, 4);
  bytes.writeUInt32BE(0, 6);
  bytes.writeUInt16BE(4, 10);
  bytes.set(address.split('.').map(Number), 12);
  return bytes;
}
