import { testRuntime } from '@tessera/test-kit';
import { createLogger } from '@tessera/telemetry';
import { expect, it, onTestFinished } from 'vitest';
import { openGateway, passwordStep } from '../testing/fake-services.ts';

/** Method, route and status of the lines for one request of each kind. */
async function linesWith(environment: Readonly<Record<string, string>>) {
  const lines: string[] = [];
  const log = createLogger(
    { service: 'gateway', level: 'info' },
    { write: (line: string) => void lines.push(line) },
  );
  const behaviours = {
    exchange: () => ({ accessToken: 'at', expiresIn: 60 }),
    introspect: () => ({ active: false }),
    revoke: () => ({}),
    begin: () => passwordStep({ interactionId: 'ti_abc' }),
  };
  const readiness = () => Promise.resolve();
  const gateway = openGateway(testRuntime({ log }), behaviours, environment, { readiness });
  onTestFinished(() => gateway.close());
  const json = { 'content-type': 'application/json' };
  for (const url of ['/.well-known/jwks.json', '/readyz', '/device', '/userinfo', '/nothing', '/authorize'])
    await gateway.app.inject({ url, headers: { host: 'localhost' } });
  const token = JSON.stringify({ token: 't' });
  const grant = JSON.stringify({ grantType: 'client_credentials', clientId: 'a', clientSecret: 'b' });
  await gateway.app.inject({ method: 'POST', url: '/introspect', headers: json, body: token });
  await gateway.app.inject({ method: 'POST', url: '/introspect', headers: json, body: '{}' });
  await gateway.app.inject({ method: 'POST', url: '/token', headers: json, body: grant });
  await gateway.app.inject({ method: 'DELETE', url: '/revoke', headers: json, body: token });
  return lines
    .map((line) => JSON.parse(line) as Record<string, string>)
    .filter(({ message }) => message === 'request')
    .map(({ method, route, status }) => `${method} ${route} ${status}`);
}

const errorsAndChanges = [
  'GET /userinfo 401',
  'GET (none) 404',
  'GET /authorize 302',
  'POST /introspect 400',
  'POST /token 200',
  'DELETE /revoke 200',
];

it('has a line for every request by default', async () => {
  const lines = await linesWith({});
  expect(lines).toHaveLength(10);
  expect(lines).toEqual(
    expect.arrayContaining([...errorsAndChanges, 'GET /.well-known/jwks.json 200', 'GET /readyz 200']),
  );
});

it('leaves out successful reads with errors-and-changes', async () => {
  expect(await linesWith({ TESSERA_ACCESS_LOG: 'errors-and-changes' })).toEqual(errorsAndChanges);
});
