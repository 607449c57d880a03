import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repository, shippedFiles, shippedFolders } from './shipped-files.ts';

const notForRunning = /^node_modules$|\.md$|^\./;

test('The image holds something of every part of the processes and libraries that it ships', () => {
  const files = shippedFiles();
  const parts = shippedFolders().flatMap((folder) =>
    readdirSync(join(repository, folder))
      .filter((name) => !notForRunning.test(name))
      .map((name) => `${folder}/${name}`),
  );
  expect(parts).toEqual(expect.arrayContaining(['apps/gateway/src', 'libs/gateway/views', 'libs/keys/sql']));
  const missing = parts.filter((part) => !files.some((path) => path === part || path.startsWith(`${part}/`)));
  expect(missing, 'name it in `parts` of shipped-files.ts').toEqual([]);
});

test('The image holds the sentences of pages and mail in every language, and no test', () => {
  const files = shippedFiles();
  const messages = files.filter((path) => path.startsWith('libs/languages/messages/'));
  expect(messages.length).toBeGreaterThan(1);
  expect(files.filter((path) => /\.test\.ts$|\/testing\//.test(path))).toEqual([]);
  expect(new Set(files).size).toBe(files.length);
});
