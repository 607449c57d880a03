import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '@tessera/process';
import { refuseDemoData } from './demo-data.ts';

const demo = readFileSync(new URL('../../../../deploy/demo/tessera.yaml', import.meta.url), 'utf8');

describe('demo data', () => {
  it.each([
    [{ NODE_ENV: 'production', TESSERA_HTTP_HOST: 'localhost' }, /NODE_ENV is production.*TESSERA_DEMO=yes/],
    [{ NODE_ENV: 'production' }, /NODE_ENV is production/],
    [{ TESSERA_HTTP_HOST: '0.0.0.0' }, /TESSERA_HTTP_HOST \(0\.0\.0\.0\).*TESSERA_DEMO=yes/],
    [{ TESSERA_HTTP_HOST: '::' }, /not a loopback address/],
    [{ TESSERA_HTTP_HOST: '192.0.2.7' }, /not a loopback address/],
    [{ TESSERA_HTTP_HOST: '127.0.0.1.example.com' }, /not a loopback address/],
    [{ TESSERA_HTTP_HOST: 'localhost.example.com' }, /not a loopback address/],
  ])('is refused with %j', (exposure, message) => {
    const refuse = () => refuseDemoData(demo, { TESSERA_DEMO: false, ...exposure });
    expect(refuse).toThrow(message);
    expect(refuse).toThrow(ConfigError);
    expect(() => refuseDemoData(demo, { TESSERA_DEMO: true, ...exposure })).not.toThrow();
  });

  it.each(['localhost', '127.0.0.1', '127.1.2.3', '::1', '[::1]'])('is served on %s', (host) => {
    const exposure = { TESSERA_DEMO: false, NODE_ENV: 'development', TESSERA_HTTP_HOST: host };
    expect(() => refuseDemoData(demo, exposure)).not.toThrow();
  });

  it('is not confused with your own tenants', () => {
    const exposure = { TESSERA_DEMO: false, NODE_ENV: 'production', TESSERA_HTTP_HOST: '0.0.0.0' };
    expect(() => refuseDemoData('tenants: []', exposure)).not.toThrow();
  });
});
