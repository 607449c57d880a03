import { describe, expect, it } from 'vitest';
import { loadConfig } from './load-config.ts';
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

  it('are given, or not, whatever else is wrong with the setting', () => {
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
});

describe('what may be private', () => {
  it('is chosen for each', () => {
    const of = (value: string) => ({ TESSERA_ALLOW_PRIVATE: allowPrivateSetting.parse(value) });
    expect(allowsPrivate(of('webhooks'), 'webhooks')).toBe(true);
    expect(allowsPrivate(of('webhooks'), 'providers')).toBe(false);
    expect(allowsPrivate(of('webhooks, providers'), 'providers')).toBe(true);
    expect(allowsPrivate(of(''), 'webhooks')).toBe(false);
    expect(allowPrivateSetting.safeParse('everything').success).toBe(false);
  });
});
