import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { Metadata, status } from '@grpc/grpc-js';
import { OAuthError } from '@tessera/oauth';
import { afterEach, expect, test } from 'vitest';
import type { AuthenticateBearer } from '../../call.ts';
import { declaring } from '../../testing/declaring.ts';
import { asOptions, bufCurlByReflection, headersOf, servedOverConnect } from '../../testing/over-connect.ts';
import { stockReflection, type ReflectionAnswer } from '../../testing/stock-clients.ts';
import { createSubject } from '../../testing/subject.ts';
import { TrialService } from '../../testing/trial/trial-services.ts';

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const bearer: AuthenticateBearer = async (accessToken) => {
  if (accessToken === 'bad') throw new OAuthError('invalid_token', 'It is not valid.');
  const principal = { kind: 'client', id: 'orders-api' } as const;
  return { caller: 'introspector', principal, scopes: [accessToken] };
};

/** `Read` is open to access tokens with the scope `keys.read`. */
async function stand() {
  const subject = createSubject();
  subject.read = (request) => ({ entries: [{ id: `of ${request.tenantId}` }] });
  const service = declaring(TrialService, { read: { callers: ['token'], scopes: ['keys.read'] } });
  const routes = subject.built.routes.map((route) =>
    route.service.typeName === TrialService.typeName ? { ...route, service, bearer } : route,
  );
  const built = { ...subject.built, routes };
  return servedOverConnect({ built, log: subject.log }, cleanUps);
}

const services = ['tessera.trial.v1.TrialService', 'tessera.trial.v1.TrialStreamService'];

function presenting(accessToken: string): Metadata {
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${accessToken}`);
  return metadata;
}

const packagesIn = ({ fileDescriptorResponse }: ReflectionAnswer) =>
  fileDescriptorResponse?.fileDescriptorProto.map(
    (bytes) => fromBinary(FileDescriptorProtoSchema, bytes).package,
  );

test.each(['v1', 'v1alpha'])(
  'a stock gRPC client reads the services and their files by reflection %s',
  async (version) => {
    const { server } = await stand();
    const ask = stockReflection(`127.0.0.1:${server.port}`, version, presenting('keys.read'));
    const list = await ask({ listServices: '*' });
    expect(list.listServicesResponse?.service.map(({ name }) => name).toSorted()).toEqual(services);
    const answer = await ask({ fileContainingSymbol: 'tessera.trial.v1.TrialService' });
    expect(packagesIn(answer)).toEqual(['tessera.trial.v1', 'google.protobuf']);
    const imported = await ask({ fileByFilename: 'google/protobuf/timestamp.proto' });
    expect(packagesIn(imported)).toContain('google.protobuf');
    expect(await ask({ fileContainingSymbol: 'tessera.Nothing' })).toMatchObject({
      errorResponse: { errorCode: status.NOT_FOUND },
    });
  },
);

test.each(['v1', 'v1alpha'])(
  'reflection %s is open to those alone who may call a method',
  async (version) => {
    const { server } = await stand();
    const asking = async (metadata: Metadata) =>
      stockReflection(`127.0.0.1:${server.port}`, version, metadata)({ listServices: '*' });
    await expect(asking(new Metadata())).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
    await expect(asking(presenting('bad'))).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
    await expect(asking(presenting('orders.read'))).rejects.toMatchObject({ code: status.PERMISSION_DENIED });
  },
);

test.each(['grpc', 'connect'])('buf curl without protos lists and calls over %s', async (protocol) => {
  const { url } = await stand();
  const options = ['--http2-prior-knowledge', '--protocol', protocol, ...asOptions(headersOf('token'))];
  const listed = await bufCurlByReflection(...options, '--list-services', url);
  expect([listed.errors, listed.out.trim().split('\n').toSorted()]).toEqual(['', services]);
  const path = `${url}/tessera.trial.v1.TrialService/Read`;
  const called = await bufCurlByReflection(...options, '-d', '{"tenantId": "acme"}', path);
  expect([called.errors, JSON.parse(called.out)]).toEqual(['', { entries: [{ id: 'of acme' }] }]);
});
