import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkMessages, loadLanguages, readOurs } from './languages.ts';

describe('a language', () => {
  const german = loadLanguages().of('de');

  it('shows an unknown sentence as it is, whatever it has', () => {
    for (const text of [
      'Signed in as {name}.',
      '',
      'nobody knows',
      '{name',
      '<b>',
      '{{constructor}}',
      "it's {0}",
    ])
      expect(german.t(text)).toBe(text);
  });

  it('puts the number of a service into the sentence', () => {
    const text = 'The password must have at least 12 characters.';
    expect(german.t(text)).toBe('Das Passwort muss mindestens 12 Zeichen haben.');
    expect(loadLanguages().of('en').t(text)).toBe(text);
  });

  it('escapes values and makes <b> strong', () => {
    expect(german.html('See your account at <b>{name}</b>.', { name: '<i>"&' })).toBe(
      'Sehen Sie Ihr Konto bei <strong>&#60;i&#62;&#34;&#38;</strong> an.',
    );
  });
});

it('has times in a sentence that a script of the page can read', () => {
  expect(
    loadLanguages()
      .of('de')
      .html('Created {time}.', { time: { time: 1_780_000_000_000 } }),
  ).toBe('Erstellt am <time datetime="2026-05-28T20:26:40.000Z">28.05.2026, 20:26 UTC</time>.');
});

describe('the languages that are built in', () => {
  const folder = new URL('../messages/', import.meta.url).pathname;
  const english = readOurs('en');

  it.each(readdirSync(folder).flatMap((file) => (file.endsWith('.json') ? [file.replace('.json', '')] : [])))(
    '%s has no sentence that cannot be shown, and none that English lacks',
    (tag) => {
      const messages = readOurs(tag);
      expect(Object.keys(messages).filter((key) => !Object.hasOwn(english, key))).toEqual([]);
      for (const key of Object.keys(english)) checkMessages(tag, { [key]: messages[key] ?? key }, english);
    },
  );

  it('are refused with a value or markup that the English sentence lacks', () => {
    for (const text of ['{other}', '<i>x</i>', '{name'])
      expect(() => checkMessages('de', { '{name}': text }, { '{name}': '' })).toThrow('cannot be used');
  });
});

describe('a language from the right', () => {
  it('keeps names and addresses from the left whole (UAX #9)', () => {
    const arabic = loadLanguages().of('ar');
    const address = '2001:db8::1';
    const isolated = `\u2068${address}\u2069`;
    expect(arabic.html('Requested from <b>{address}</b>.', { address })).toContain(
      `<strong>${isolated}</strong>`,
    );
    expect(arabic.t('Signed in as {name}.', { name: address })).toContain(isolated);
    expect(loadLanguages().of('de').t('Signed in as {name}.', { name: address })).not.toMatch(
      /[\u2068\u2069]/,
    );
  });
});

describe('the messages of an operator', () => {
  function folderWith(files: Record<string, string>): string {
    const made = mkdtempSync(join(tmpdir(), 'tessera-messages-'));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(made, name), text);
    return made;
  }

  it('add a language, which is English where they say nothing, and replace sentences', () => {
    const own = folderWith({ 'fr.json': '{"Sign in": "Connexion"}', 'en.json': '{"Sign in": "Log in"}' });
    const languages = loadLanguages(own);
    expect(languages.of('fr').t('Sign in')).toBe('Connexion');
    expect(languages.of('fr').t('Continue')).toBe('Continue');
    expect(languages.of('en').t('Sign in')).toBe('Log in');
    expect(languages.of('de').t('Sign in')).toBe('Anmelden');
  });

  it.each([
    ['{', /fr\.json is not JSON/],
    ['["Sign in"]', /fr\.json must be an object of texts/],
    ['{"Sign in": 1}', /fr\.json must be an object of texts/],
    ['{"Sign in": "{a"}', /fr\.json: "\{a" cannot be used/],
    ['{"Sign in": "<script>"}', /markup/],
    ['{"Signed in as {name}.": "{nmae}"}', /fr\.json: "\{nmae\}" cannot be used/],
  ])('are refused at the start with what to correct: %s', (text, problem) => {
    expect(() => loadLanguages(folderWith({ 'fr.json': text }))).toThrow(problem);
  });
});

it('shows what others have written in its language, else as they have it, else in English', () => {
  const [german, english] = [loadLanguages().of('de'), loadLanguages().of('en')];
  const descriptions = { de: 'Bestellungen ändern', en: 'change the orders' };
  expect(german.own({ description: 'change orders', descriptions })).toBe('Bestellungen ändern');
  expect(english.own({ description: 'change orders' })).toBe('change orders');
  expect(german.own({ description: 'change orders', descriptions: { ar: 'x' } })).toBe('change orders');
  expect(german.own({ description: '', descriptions: { en: 'change the orders' } })).toBe(
    'change the orders',
  );
  expect(german.own({ description: '', descriptions: { fr: 'x' } })).toBe('');
  expect(german.own({ description: 'know who you are' })).toBe('wissen, wer Sie sind');
  expect(german.own({ description: 'use {resource}', values: { resource: 'Orders' } })).toBe('Orders nutzen');
  for (const text of ['use {resource}', '{count, plural, other {x}}', '<b>'])
    expect(german.own({ description: text })).toBe(text);
});

it('takes the texts of a language for its regions', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tessera-languages-'));
  writeFileSync(join(folder, 'pt-BR.json'), '{}');
  const words = { description: 'orders', descriptions: { pt: 'pedidos' } };
  expect(loadLanguages(folder).of('pt-BR').own(words)).toBe('pedidos');
});
