import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { IntlMessageFormat } from 'intl-messageformat';
import { describe, expect, it } from 'vitest';
import { testRuntime } from '@tessera/test-kit';
import { openGateway } from '../testing/fake-services.ts';
import { readOurs } from '@tessera/languages';
import { developerHint } from './developer-hint.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const known = Object.keys(readOurs('en'));
const read = (pattern: string) =>
  globSync(pattern, { cwd: root }).map((file) => readFileSync(join(root, file), 'utf8'));

/** Sentences that pages have: what templates name, and what looks like a sentence in the code of pages. */
function sentencesOf(templates: readonly string[], sources: readonly string[]): string[] {
  const named = templates.flatMap((text) => [...text.matchAll(/it\.(?:t|html)\('((?:[^'\\]|\\.)+)'/g)]);
  const written = sources.flatMap((text) => [
    ...withoutErrors(text).matchAll(/'([A-Z](?:[^'\\\n]|\\.)* (?:[^'\\\n]|\\.)+)'/g),
  ]);
  return [...named, ...written].map(([, sentence = '']) => sentence.replaceAll("\\'", "'"));
}

/** Errors that no person can do anything about are in English alone, and so is what only clients read. */
const withoutErrors = (text: string) =>
  text
    .replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
    .replaceAll(/new OAuthError\(\s*'(?:server_error|invalid_request)',[\s\S]*?\)/g, '')
    .replaceAll(/new Error\([^)]*\)/g, '');

const code = 'src/{pages/**/*,page-table}.ts';
const sources = read(code).filter((_text, index) => {
  const file = globSync(code, { cwd: root })[index] ?? '';
  return !/\.test\.ts$|developer-hint/.test(file);
});

/** What the authorization endpoint says to clients that their developers have to mend. */
const wireMessages = [
  'Missing required OAuth parameters.',
  'Only response_type=code is supported.',
  'Missing PKCE parameters.',
  'Only code_challenge_method=S256 is supported.',
  'The client is not known.',
  'The redirect_uri is not registered for this client.',
];

/** The names of the values and tags of a sentence. */
function partsOf(text: string): string[] {
  const names = new Set<string>();
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(visit);
    if (typeof node !== 'object' || node === null) return;
    const { type, value, ...rest } = node as { type?: number; value?: unknown };
    // Of literals and `#` only the place matters.
    if (type !== undefined && type !== 0 && type !== 7 && typeof value === 'string')
      names.add(type === 8 ? `<${value}>` : value);
    Object.values(rest).forEach(visit);
  };
  visit(new IntlMessageFormat(text, 'en').getAst());
  return [...names].toSorted();
}

/** Sentences that begin as the end of another one. */
const fragmentsOf = (sentences: readonly string[]) =>
  sentences.filter((sentence) => !/^(?:<b>)?[\p{Lu}{]/u.test(sentence));

describe('the messages of the pages', () => {
  it('have every sentence of the templates and of the code', () => {
    const letters = read('../people/src/*/*letters.ts');
    expect(letters.length).toBeGreaterThan(0);
    const sentences = sentencesOf(
      [...read('views/**/*.eta'), ...read('../pages/views/*.eta')],
      [...sources, ...letters],
    );
    expect(sentences.length).toBeGreaterThan(80);
    expect(sentences.filter((sentence) => !known.includes(sentence))).toEqual([]);
  });

  it('have every hint for developers', () => {
    const hints = wireMessages.map((message) => developerHint(message) ?? '');
    expect(hints.filter((hint) => !known.includes(hint))).toEqual([]);
  });

  it('would miss a sentence that a template or the code gets (canary)', () => {
    expect(sentencesOf(["<%= it.t('New here.') %>"], ["title: 'Also new',"])).toEqual([
      'New here.',
      'Also new',
    ]);
  });

  it.each(['de', 'ar'])('are complete in %s, with the same values and tags', (tag) => {
    const messages = readOurs(tag);
    expect(Object.keys(messages)).toEqual(known);
    for (const [key, text] of Object.entries(messages)) {
      expect(text.trim(), key).not.toBe('');
      expect(partsOf(text), key).toEqual(partsOf(key));
    }
  });

  /** Items of a list below a sentence, and the word between two ways to sign in. */
  const items = /^(?:know who|see your|keep access|use \{resource\}|or$)/;

  it('are whole: none is put together of halves, which other languages order in another way', () => {
    expect(fragmentsOf(known).filter((sentence) => !items.test(sentence))).toEqual([]);
    const joined = [...sources, ...read('views/**/*.eta'), ...read('../pages/views/*.eta')].flatMap(
      (text) => text.match(/\b(?:t|html)\((?:`[^`]*\$\{|[^()]*?['"`] \+ )/g) ?? [],
    );
    expect(joined).toEqual([]);
  });

  it('write email in one way', () => {
    // A name may be what a service says, which peers of any version compare.
    const english = Object.values(readOurs('en'));
    expect(english.filter((sentence) => /e-mail/i.test(sentence))).toEqual([]);
  });

  it('would be refused as halves (canary)', () => {
    expect(fragmentsOf(['Whole.', 'to be continued', ', and so on'])).toEqual([
      'to be continued',
      ', and so on',
    ]);
  });

  it('would differ if a translation forgot a value (canary)', () => {
    expect(partsOf('<b>{name}</b>')).not.toEqual(partsOf('<b>x</b>'));
    expect(partsOf('{name}')).not.toEqual(partsOf('{nmae}'));
  });
});

describe('the language of a page', () => {
  const ask = async (query: string, headers: Record<string, string>) => {
    const gateway = openGateway(testRuntime(), {});
    const { body, headers: answered } = await gateway.app.inject({
      url: `/device${query}`,
      headers: { accept: 'text/html', ...headers },
    });
    const shown = /<html lang="(?<lang>[^"]+)" dir="(?<dir>[^"]+)"/.exec(body)?.groups;
    return [shown?.['lang'], shown?.['dir'], answered['content-language']];
  };

  it('is found for every path, however malformed', async () => {
    const gateway = openGateway(testRuntime(), {});
    const headers = { accept: 'text/html', 'accept-language': 'de' };
    const { body } = await gateway.app.inject({ url: '//[?ui_locales=%', headers });
    expect(body).toMatch(/<html lang="de"/);
  });

  it.each([
    ['', {}, 'en', 'ltr'],
    ['', { 'accept-language': 'de-AT, en;q=0.5' }, 'de', 'ltr'],
    ['', { 'accept-language': 'sv, ar;q=0.5' }, 'ar', 'rtl'],
    ['', { 'accept-language': 'sv' }, 'en', 'ltr'],
    ['', { 'accept-language': '*' }, 'en', 'ltr'],
    ['?ui_locales=sv%20ar-EG%20de', { 'accept-language': 'de' }, 'ar', 'rtl'],
    ['?ui_locales=x', { 'accept-language': 'de' }, 'de', 'ltr'],
    ['?ui_locales=..%2Fen%20__proto__%20%22%3E%3Cb%3E%00', { 'accept-language': 'de' }, 'de', 'ltr'],
    ['?ui_locales=constructor', { 'accept-language': '../../etc/passwd, x-<b>, toString' }, 'en', 'ltr'],
  ])('is that of %s and %j (OIDC Core §3.1.2.1, RFC 9110 §12.5.4)', async (query, headers, lang, dir) => {
    expect(await ask(query, headers)).toEqual([lang, dir, lang]);
  });
});
