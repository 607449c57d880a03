import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, credentials, Metadata, status, type ServiceError } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import type { SetUp, System } from '../../harness/set-up.ts';

/** What a stock gRPC client sees of the listeners for calls of a split system: nothing of ours but the wire. */
export function callsSuite(system: () => System, { rpc: identity }: SetUp): void {
  const services = ['keys', 'directory', 'authorize', 'device', 'token'] as const;

  /** A client with the identity of `as`; undefined brings none. */
  function client(service: string, as: string | undefined): { rpc: Client; metadata: Metadata } {
    const target = `127.0.0.1:${system().environmentOf(service)['TESSERA_RPC_PORT']}`;
    const own = system().environmentOf(as ?? 'gateway');
    const metadata = new Metadata();
    if (identity === 'token') {
      if (as !== undefined) {
        metadata.set('authorization', `Bearer ${own['TESSERA_RPC_TOKEN']}`);
        metadata.set('x-tessera-caller', as);
      }
      return { rpc: new Client(target, credentials.createInsecure()), metadata };
    }
    const read = (file: string): Buffer => readFileSync(join(own['TESSERA_RPC_TLS_DIR'] ?? '', file));
    const ca = read('ca.crt');
    const ssl =
      as === undefined
        ? credentials.createSsl(ca)
        : credentials.createSsl(ca, read('tls.key'), read('tls.crt'));
    return { rpc: new Client(target, ssl, { 'grpc.ssl_target_name_override': 'localhost' }), metadata };
  }

  /** One unary call with messages as bytes; the answer is the status code. */
  async function call(
    service: string,
    method: string,
    as: string | undefined,
    message = Buffer.alloc(0),
  ): Promise<{ code: number; body: Buffer }> {
    const { rpc, metadata } = client(service, as);
    try {
      return await new Promise((resolve) => {
        rpc.makeUnaryRequest(
          method,
          (value: Buffer) => value,
          (value) => value,
          message,
          metadata,
          { deadline: Date.now() + 5000 },
          (error: ServiceError | null, body) =>
            resolve({ code: error?.code ?? status.OK, body: body ?? Buffer.alloc(0) }),
        );
      });
    } finally {
      rpc.close();
    }
  }

  describe('the listeners for calls', () => {
    it.each(services)('report the health of %s as serving', async (service) => {
      const { code, body } = await call(service, '/grpc.health.v1.Health/Check', 'gateway');
      expect(code).toBe(status.OK);
      // HealthCheckResponse { status: SERVING }
      expect([...body]).toEqual([0x08, 0x01]);
    });

    it.each(services)('list the services of %s by reflection', async (service) => {
      const { rpc, metadata } = client(service, 'gateway');
      try {
        const listed = await new Promise<string>((resolve, reject) => {
          const stream = rpc.makeBidiStreamRequest(
            '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
            (value: Buffer) => value,
            (value: Buffer) => value,
            metadata,
            { deadline: Date.now() + 5000 },
          );
          stream.on('data', (answer: Buffer) => {
            resolve(answer.toString('latin1'));
            stream.end();
          });
          stream.on('error', reject);
          // ServerReflectionRequest { list_services: "*" }
          stream.write(Buffer.from([0x3a, 0x01, 0x2a]));
        });
        expect(listed).toContain(`tessera.${service}.v1.`);
      } finally {
        rpc.close();
      }
    });

    it.each(services)('refuse a caller of %s without an identity', async (service) => {
      const { code } = await call(service, '/grpc.health.v1.Health/Check', undefined);
      expect([status.UNAUTHENTICATED, status.UNAVAILABLE]).toContain(code);
    });

    it('let token alone sign, and token alone redeem', async () => {
      for (const [service, method] of [
        ['keys', '/tessera.keys.v1.KeysService/Sign'],
        ['authorize', '/tessera.authorize.v1.AuthorizeService/RedeemCode'],
        ['directory', '/tessera.admin.v1.DeclaredStateService/Apply'],
      ] as const) {
        for (const as of ['gateway', 'device']) {
          expect((await call(service, method, as)).code, `${as} calls ${method}`).toBe(
            status.PERMISSION_DENIED,
          );
        }
      }
      expect((await call('keys', '/tessera.keys.v1.KeysService/Sign', 'token')).code).not.toBe(
        status.PERMISSION_DENIED,
      );
    });
  });
}
