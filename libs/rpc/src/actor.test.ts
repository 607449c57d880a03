import { createClient, type Client } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { silentLog } from '@tessera/test-kit';
import { afterEach, describe, expect, it } from 'vitest';
import { onBehalfOf } from './actor.ts';
import { rootCall } from './call-options.ts';
import { route, type Actor, type BuiltService, type CallerName } from './call.ts';
import { local } from './hosts/in-process/local.ts';
import { headersOf, servedOverConnect } from './testing/over-connect.ts';
import { servers, token } from './testing/servers.ts';
import { TrialService } from './testing/trial/trial-services.ts';

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const seen: (Actor | undefined)[] = [];
const noted = (_request: unknown, { actor }: { readonly actor?: Actor | undefined }) => {
  seen.push(actor);
  return {};
};
const built: BuiltService = {
  name: 'directory',
  routes: [route(TrialService, { read: noted, write: noted, change: noted })],
  ready: async () => {},
  close: async () => {},
};
const subject = { built, log: silentLog() };

type ClientAs = (caller: CallerName) => Promise<Client<typeof TrialService>>;

const ways: readonly [string, ClientAs][] = [
  ['in process', async (caller) => local(TrialService, built, caller, subject.log)],
  [
    'over gRPC',
    async (caller) => {
      const { served, clientOf } = servers(cleanUps);
      const { host, port } = await served(subject);
      return clientOf(`${host}:${port}`, { as: caller }).client(TrialService);
    },
  ],
  [
    'over Connect',
    async (caller) => {
      const { url } = await servedOverConnect(subject, cleanUps, { credentials: { kind: 'token', token } });
      const transport = createConnectTransport({
        baseUrl: url,
        httpVersion: '1.1',
        interceptors: [
          (next) => async (request) => {
            for (const [name, value] of Object.entries(headersOf(caller))) request.header.set(name, value);
            return next(request);
          },
        ],
      });
      return createClient(TrialService, transport);
    },
  ],
];

const ada: Actor = { type: 'user', tenantId: 'acme', id: 'usr_0123456789012345678901' };

describe.each(ways)('a call %s', (_way, clientAs) => {
  it('is on behalf of whom the caller admin names, and of nobody for any other caller', async () => {
    seen.length = 0;
    const call = onBehalfOf(rootCall('a-request'), ada);
    await (await clientAs('admin')).change({}, call);
    await (await clientAs('operator')).change({}, call);
    await (await clientAs('admin')).change({}, rootCall('a-request'));
    expect(seen).toEqual([ada, undefined, undefined]);
  });

  it.each([
    { type: 'client', tenantId: 'acme', id: 'https://ci.acme.example/~deploy@1:2+3' },
    { type: 'operator', tenantId: '', id: 'operator' },
  ] as const)('names %j as it is', async (actor) => {
    seen.length = 0;
    await (await clientAs('admin')).change({}, onBehalfOf(rootCall('a-request'), actor));
    expect(seen).toEqual([actor]);
  });
});

it('an actor in another form is none', async () => {
  seen.length = 0;
  const client = local(TrialService, built, 'admin', subject.log);
  for (const actor of [
    '',
    'user acme',
    'system acme x',
    'user ACME x',
    'user acme a b',
    'user acme \u00e9',
    `user acme ${'x'.repeat(129)}`,
  ])
    await client.change({}, { headers: { 'x-tessera-actor': actor } });
  expect(seen).toEqual(Array(7).fill(undefined));
});
