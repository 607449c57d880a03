import { loadConfig } from '@tessera/process';
import { describe, expect, it } from 'vitest';
import { controllerConfig } from './config.ts';

const needed = {
  TESSERA_API: 'https://tessera-administration.tessera.svc:9002',
  TESSERA_ISSUER: 'https://id.example',
  TESSERA_CLIENT_ASSERTION_FILE: '/run/tessera/identity/token',
};
const loaded = (namespaces: string) =>
  loadConfig(controllerConfig, { ...needed, TESSERA_CONTROLLER_NAMESPACES: namespaces });

describe('the settings of the controller', () => {
  it('say in which tenant the objects of a namespace are records', () => {
    expect([...loaded('shop=acme, stock=globex').TESSERA_CONTROLLER_NAMESPACES]).toEqual([
      ['shop', 'acme'],
      ['stock', 'globex'],
    ]);
    expect(loaded('').TESSERA_CONTROLLER_NAMESPACES.size).toBe(0);
  });

  it.each(['shop', 'shop=', 'shop=acme=x', 'Shop=acme', 'shop=acme,shop=globex'])(
    'refuse %s',
    (namespaces) => {
      expect(() => loaded(namespaces)).toThrow('TESSERA_CONTROLLER_NAMESPACES: expected');
    },
  );

  it('name what lacks', () => {
    expect(() => loadConfig(controllerConfig, {})).toThrow(
      /TESSERA_API is missing[^]*TESSERA_ISSUER is missing/,
    );
  });
});
