import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { readOurs } from '@tessera/languages';

const root = fileURLToPath(new URL('../', import.meta.url));
const known = new Set(Object.keys(readOurs('en')));

/** Texts that look like a sentence or a label, but for those that no page shows. */
const sentenceLike = /'([A-Z](?:[^'\\\n]|\\.)*)'/g;
const comments = /\/\*[\s\S]*?\*\/|\/\/.*/g;
const shownToNobody = /(?:new \w*Error|super)\([^;]*?\);/g;
const names = /^(?:[A-Z]+\d*|[A-Z_]+|InvalidFormError|E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM)$/;

function sentencesIn(text: string): string[] {
  const found = text.replaceAll(comments, '').replaceAll(shownToNobody, '').matchAll(sentenceLike);
  return [...found]
    .map(([, sentence = '']) => sentence.replaceAll("\\'", "'"))
    .filter((sentence) => !names.test(sentence));
}

const files = globSync(['views/*.eta', 'src/**/*.ts'], { cwd: root }).filter(
  (file) => !/\.test\.ts$|\/testing\//.test(file),
);

it.each(files)('%s shows no sentence that the languages lack', (file) => {
  expect(sentencesIn(readFileSync(root + file, 'utf8')).filter((sentence) => !known.has(sentence))).toEqual(
    [],
  );
});

it('would find one that is new (canary)', () => {
  expect(sentencesIn("label: 'Quite new', it.t('Also new.')")).toEqual(['Quite new', 'Also new.']);
});
