import { readdirSync } from 'node:fs';
import type { JsonObject } from '@bufbuild/protobuf';
import type { DescService } from '@tessera/rpc';
import { UpdateUserRequestSchema } from '@tessera/proto-gen/admin-users';
import { describe, expect, it } from 'vitest';
import { unknownFields } from './administration-requests.ts';
import { administeredServices } from './administration.ts';
import { cross, randomLike, type Answer, type Tried } from './crossing.ts';
import { unknownPaths } from './public-requests.ts';

const answered = (words: string): Answer => ({ words, text: words, tookNothing: true });
const taken = (name: string) => answered(name === 'theirs-name' ? '6 taken' : '0 made');
const refused = () => answered('7 no');
const made = () => answered('0 made');

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

  it.each([
    [
      'a value that is answered otherwise than an unknown one',
      taken,
      'answered "6 taken", an unknown value "0 made"',
    ],
    ['a value that was not tried, as who asks may not', refused, 'not tried, as who asks is answered "7 no"'],
    ['nothing where both are answered alike', made, undefined],
  ])('names %s', async (_what, ask, problem) => {
    const good = {
      name: 'Create',
      values: async (of: { id: string }) => ({ tenantId: of.id, name: `${of.id}-name` }),
      ask: async (_as: { id: string }, { name }: JsonObject) => ask(typeof name === 'string' ? name : ''),
      doors: ['tenantId'],
      untried: (words: string) => words.startsWith('7 '),
    };
    const tried: Tried[] = [];
    for await (const each of cross(good, { id: 'ours' }, { id: 'theirs' })) tried.push(each);
    expect(tried.find(({ crossing }) => crossing === 'Create with name')).toEqual({
      crossing: 'Create with name',
      problem,
    });
  });
});
