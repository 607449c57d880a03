import { readdirSync } from 'node:fs';
import type { DescService } from '@tessera/rpc';
import { UpdateUserRequestSchema } from '@tessera/proto-gen/admin-users';
import { describe, expect, it } from 'vitest';
import { unknownFields } from './administration-requests.ts';
import { administeredServices } from './administration.ts';
import { randomLike } from './crossing.ts';
import { unknownPaths } from './public-requests.ts';

describe('smoke --isolation', () => {
  it('tries every path of the server, or says why not', () => {
    expect(unknownPaths).toEqual([]);
  });

  it('tries every service of the administration API', async () => {
    const folder = new URL(import.meta.resolve('@tessera/proto-gen/admin-users'));
    const files = readdirSync(new URL('.', folder)).map((file) => file.replace('_pb.ts', ''));
    const modules = await Promise.all(
      files.map(
        async (name) =>
          import(`@tessera/proto-gen/admin-${name}`) as Promise<Record<string, { kind?: string }>>,
      ),
    );
    const services = modules.flatMap((each) => Object.values(each)).filter(({ kind }) => kind === 'service');
    const missing = (services as DescService[]).filter((service) => !administeredServices.includes(service));
    expect(missing.map(({ typeName }) => typeName)).toEqual([]);
  });

  it('knows no field that it has no value for', () => {
    const values = {
      tenantId: 'acme',
      userId: 'usr_1',
      etag: 'e',
      roles: ['clerk'],
      email: 'e',
      phoneNumber: '+1',
    };
    expect(unknownFields(UpdateUserRequestSchema, values)).toEqual(['user.username']);
  });

  it('tries values of the same form', () => {
    expect(randomLike('usr_aB3-_')).toMatch(/^usr_[a-z][A-Z][1-9]-_$/);
    expect(randomLike('https://a1.example')).toMatch(/^https:\/\/[a-z][1-9]\.[a-z]{7}$/);
    expect(randomLike('eyJhbGci.eyJzdWIi.c2ln')).toMatch(/^eyJhbGci\.eyJzdWIi\.[a-z][1-9][a-z]{2}$/);
  });
});
