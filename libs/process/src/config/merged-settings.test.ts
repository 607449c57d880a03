import { describe, expect, it } from 'vitest';
import { knownSettings, loadConfig } from './load-config.ts';
import { mergedNames, mergedSettings } from './merged-settings.ts';
import { isPeerGiven, peerTarget, rpcConfig, rpcCredentials } from './rpc-settings.ts';
import { allowPrivateSetting, allowsPrivate } from './settings-of-several-services.ts';

const rpc = (environment: Record<string, string>) => loadConfig(rpcConfig, environment);

describe('the addresses of the services', () => {
  it('are entries of one setting, each of one replica or several', () => {
    const config = rpc({ TESSERA_PEERS: 'keys=keys:9000\n  directory=a.example:9000,[::1]:9001 ' });
    expect(peerTarget(config, 'keys')).toBe('keys:9000');
    expect(peerTarget(config, 'directory')).toBe('a.example:9000,[::1]:9001');
    expect(peerTarget(config, 'token')).toBeUndefined();
  });

  it.each([
    ['keys', 'entries such as keys=host:port'],
    ['gateway=gateway:9000', 'each of keys, directory, authorize, token, device once'],
    ['keys=a:1 keys=b:1', 'once'],
    ['keys=https://peer.example', 'expected host:port'],
  ])('are refused as %s', (TESSERA_PEERS, message) => {
    expect(() => rpc({ TESSERA_PEERS })).toThrow(message);
  });

  it('may have their names of version 0.1, unless the one setting says where the service is', () => {
    const former = { TESSERA_PEER_KEYS: 'old:9000', TESSERA_PEER_TOKEN: 'token:9000' };
    const config = rpc({ ...former, TESSERA_PEERS: 'keys=new:9000' });
    expect(['keys', 'token'].map((name) => peerTarget(config, name as 'keys'))).toEqual([
      'new:9000',
      'token:9000',
    ]);
    expect(isPeerGiven(former, 'token')).toBe(true);
    expect(isPeerGiven(former, 'directory')).toBe(false);
    expect(isPeerGiven({ TESSERA_PEERS: 'directory=d:1' }, 'directory')).toBe(true);
    expect(isPeerGiven({ TESSERA_PEERS: 'directory=d:1' }, 'keys')).toBe(false);
    expect(isPeerGiven({ TESSERA_PEERS_FILE: '/run/absent' }, 'keys'), 'the call says what is wrong').toBe(
      true,
    );
  });
});

describe('the certificates of calls', () => {
  const mtls = { TESSERA_RPC_AUTH: 'mtls' };
  const folder = { ...mtls, TESSERA_RPC_TLS_DIR: '/run/rpc' };
  const files = {
    certificateFile: '/run/rpc/tls.crt',
    privateKeyFile: '/run/rpc/tls.key',
    caFile: '/run/rpc/ca.crt',
  };

  it('are in one folder', () => {
    expect(rpcCredentials(rpc(folder))).toMatchObject(files);
    expect(() => rpcCredentials(rpc(mtls))).toThrow(/TESSERA_RPC_TLS_DIR is required/);
  });

  it('may be the three files of version 0.1, unless there is the folder', () => {
    const former = {
      TESSERA_RPC_TLS_CERT: '/a.crt',
      TESSERA_RPC_TLS_KEY: '/a.key',
      TESSERA_RPC_TLS_CA: '/ca.crt',
    };
    expect(rpcCredentials(rpc({ ...mtls, ...former }))).toMatchObject({
      certificateFile: '/a.crt',
      privateKeyFile: '/a.key',
      caFile: '/ca.crt',
    });
    expect(rpcCredentials(rpc({ ...folder, ...former }))).toMatchObject(files);
    const { TESSERA_RPC_TLS_CA: _left, ...two } = former;
    expect(() => rpcCredentials(rpc({ ...mtls, ...two }))).toThrow(/TESSERA_RPC_TLS_DIR is required/);
  });
});

describe('what may be private', () => {
  it('is chosen for each, by one setting or by the two of version 0.1', () => {
    const of = (value: string) => ({ TESSERA_ALLOW_PRIVATE: allowPrivateSetting.parse(value) });
    expect(allowsPrivate(of('webhooks'), 'webhooks')).toBe(true);
    expect(allowsPrivate(of('webhooks'), 'providers')).toBe(false);
    expect(allowsPrivate(of('webhooks, providers'), 'providers')).toBe(true);
    expect(allowsPrivate(of(''), 'webhooks')).toBe(false);
    const former = { ...of(''), TESSERA_PROVIDERS_ALLOW_PRIVATE: true };
    expect([allowsPrivate(former, 'providers'), allowsPrivate(former, 'webhooks')]).toEqual([true, false]);
    expect(allowPrivateSetting.safeParse('everything').success).toBe(false);
  });
});

describe('the settings of version 0.1 that are part of others', () => {
  it('are settings, as are those that they are part of', () => {
    for (const names of Object.entries(mergedSettings))
      expect(knownSettings).toEqual(expect.arrayContaining(names));
  });

  it('are listed where an environment has them, those with _FILE included', () => {
    expect(
      mergedNames({ TESSERA_PEER_KEYS: 'keys:9000', TESSERA_REDIS_CA_FILE: '/ca', TESSERA_PEERS: '' }),
    ).toEqual([
      { former: 'TESSERA_PEER_KEYS', present: 'TESSERA_PEERS' },
      { former: 'TESSERA_REDIS_CA_FILE', present: 'TESSERA_REDIS_TLS_DIR' },
    ]);
  });
});
