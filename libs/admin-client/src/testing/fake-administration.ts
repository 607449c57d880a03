import { Code, ConnectError } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { BadRequestSchema } from '@tessera/proto-gen/error-details';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Listening {
  readonly url: string;
  close(): void;
}

/** A server on a free port of the loopback address. */
export async function listening(handle: RequestListener): Promise<Listening> {
  const server = createServer(handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => server.close().closeAllConnections(),
  };
}

/** Takes the access token `good`, which it also issues, and adds people who have a user name. */
export async function fakeAdministration(): Promise<
  Listening & { readonly sent: string[]; readonly tokenRequests: string[] }
> {
  const sent: string[] = [];
  const tokenRequests: string[] = [];
  const calls = connectNodeAdapter({
    routes: (router) =>
      router.service(UsersService, {
        create({ user }, { requestHeader }) {
          const authorization = requestHeader.get('authorization') ?? '';
          sent.push(authorization);
          if (authorization !== 'Bearer good') throw new ConnectError('not this one', Code.Unauthenticated);
          const username = user?.username ?? '';
          if (username !== '') return { username, userId: 'usr_1' };
          const value = { fieldViolations: [{ field: 'user.username', description: 'is required' }] };
          throw new ConnectError('refused', Code.InvalidArgument, {}, [{ desc: BadRequestSchema, value }]);
        },
      }),
  });
  const server = await listening((request, response) => {
    if (request.url !== '/token') {
      calls(request, response);
      return;
    }
    request.on('data', (data: Buffer) => tokenRequests.push(data.toString()));
    request.on('end', () => response.end(JSON.stringify({ access_token: 'good', expires_in: 300 })));
  });
  return { ...server, sent, tokenRequests };
}
