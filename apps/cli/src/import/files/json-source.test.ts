import { appendFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CommandError } from '../../terminal.ts';
import { file } from '../../testing/run-command.ts';
import { listInJson, objectsInJson } from './json-list.ts';
import { sourceOf, textSource } from './json-source.ts';

const noInput = { input: async () => '' };
const read = async (text: string | Buffer) => sourceOf(file(text, 'source.json'), noInput);

/** With people around each edge of the part that is in memory at a time, and characters of several bytes. */
const long = {
  realm: 'harbour',
  users: Array.from({ length: 5000 }, (_, index) => ({ username: `ü ${index} "]}`, note: '漢'.repeat(50) })),
  clients: [{ users: ['not these'] }],
};

describe('a file of JSON', () => {
  it('is read in parts, with a list apart, as often as somebody asks', async () => {
    for (const source of [await read(JSON.stringify(long)), textSource(JSON.stringify(long))]) {
      const [found] = objectsInJson(source, 'users');
      expect(found?.value).toEqual({ ...long, users: [] });
      for (const _ of [1, 2]) expect([...(found?.list ?? [])]).toEqual(long.users);
    }
  });

  it('may be a list, have a byte order mark, or be UTF-16', async () => {
    const text = JSON.stringify([long, { realm: 'other' }]);
    for (const bytes of [`\uFEFF${text}`, Buffer.from(`\uFEFF${text}`, 'utf16le')]) {
      const found = objectsInJson(await read(bytes), 'users');
      expect(found.map(({ value, list }) => [(value as typeof long).realm, [...list].length])).toEqual([
        ['harbour', 5000],
        ['other', 0],
      ]);
    }
  });

  it('has the last of two lists under one name, as JSON has', async () => {
    const [found] = objectsInJson(textSource('{"users":[1],"realm":"r","users":[2,3]}'), 'users');
    expect([found?.value, [...(found?.list ?? [])]]).toEqual([{ realm: 'r', users: [] }, [2, 3]]);
  });

  it.each(['{"users":[1}', '{"users":[1]', '{"users":[1]}}', '{"users":[1],}', '["a"', '{users:[]}', ''])(
    'that is %s is refused',
    (text) => {
      expect(() => objectsInJson(textSource(text), 'users').forEach(({ list }) => [...list])).toThrow(
        SyntaxError,
      );
    },
  );

  it('is refused where it is nested deeper than programs write it, and not elsewhere', () => {
    const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    const realm = (levels: number) => `{"realm":"r","users":[],"x":${nested(levels)}}`;
    const people = (levels: number) => `{"users":[{"x":${nested(levels)}}]}`;
    const message = 'The file has more than 200 levels of lists and objects, at position';
    expect(() => objectsInJson(textSource(realm(3000)), 'users')).toThrow(message);
    expect(() => objectsInJson(textSource(realm(201)), 'users')).toThrow(`${message} 229.`);
    expect(() => listInJson(people(199), 'users')).toThrow(message);
    for (const fits of [realm(200), people(198)])
      expect(objectsInJson(textSource(fits), 'users')).toHaveLength(1);
  });

  it('is refused if it is not UTF-8, or changes while it is read', async () => {
    await expect(read(Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22]))).rejects.toThrow('is not UTF-8');
    const path = file(JSON.stringify(long), 'changed.json');
    const [found] = objectsInJson(await sourceOf(path, noInput), 'users');
    appendFileSync(path, ' ');
    expect(() => [...(found?.list ?? [])]).toThrow(CommandError);
    await expect(sourceOf(`${path}.none`, noInput)).rejects.toThrow('Cannot read the file');
  });
});
