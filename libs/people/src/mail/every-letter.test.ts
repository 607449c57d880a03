import { createHash, createSecretKey } from 'node:crypto';
import { systemRandom } from '@tessera/kit';
import { loadLanguages } from '@tessera/languages';
import { testDatabase, type ReceivedMail } from '@tessera/test-kit';
import { describe, expect, it } from 'vitest';
import { issuer, mailWorld } from '../testing/mail-world.ts';
import { migrations } from '@tessera/directory';
import { createCodeValues } from '../mail-code/code-values.ts';
import { mailCodeLetters } from '../mail-code/mail-code-letters.ts';
import { createLetters } from './letters.ts';
import { announcedChanges, createOutbox, mailKinds, type MailContent } from './outbox.ts';

const tags = ['en', 'de', 'ar'] as const;

const about: MailContent = {
  ipAddress: '203.0.113.9',
  signedInAt: Date.UTC(2026, 0, 2),
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
  to: 'eve@people.example',
  username: 'eve',
};

type Named = readonly [string, { readonly kind: string; readonly content: MailContent }];

/** Every kind that is sent, by its name; requests become another kind, or nothing. */
const letters = new Map(
  [...mailKinds, 'mail-code', 'mail-code-second']
    .filter((kind) => !kind.endsWith('-request'))
    .flatMap((kind): Named[] =>
      kind === 'notice'
        ? announcedChanges.map((change) => [change, { kind, content: { ...about, change } }])
        : [[kind, { kind, content: about }]],
    ),
);

/** That of the directory under test. */
const pepper = createSecretKey(createHash('sha256').update('p').digest());

/** The letters in a language, by the names of their kinds, as a real server got them. */
async function receivedIn(tag: string): Promise<ReadonlyMap<string, ReceivedMail>> {
  const of = await mailWorld(await testDatabase(migrations), { eve: { locale: tag } });
  const outbox = createOutbox({ pepper, random: systemRandom, mailsPerHour: 1000 });
  const { tenantId, userId } = of;
  await of.database.transaction(async (tx) => {
    for (const [name, letter] of letters)
      await outbox.add(tx, { tenantId, userId, ...letter, lifetimeSeconds: 600 }, `tm_${name}`);
  });
  const mails = await of.smtp.gotAll(letters.size);
  const nameOf = ({ headers }: ReceivedMail) => /^<tm_(.+)@/.exec(headers['message-id'] ?? '')?.[1] ?? '';
  return new Map(mails.map((mail) => [nameOf(mail), mail]));
}

const linesOf = (text: string) => text.split('\n').filter((line) => line !== '' && !line.includes('://'));

/** What a person reads of HTML. */
const readable = (html: string) =>
  html
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

describe('every letter', () => {
  it.each(tags)('is complete in %s, as text and as HTML', async (tag) => {
    const received = await receivedIn(tag);
    expect([...received.keys()].toSorted()).toEqual([...letters.keys()].toSorted());
    const languages = loadLanguages();
    const direction = tag === 'ar' ? 'rtl' : 'ltr';
    const english = createLetters(languages, mailCodeLetters(createCodeValues(pepper)));
    for (const [name, { headers, text, html, link }] of received) {
      const { subject = '' } = headers;
      expect(html, name).toContain(`<html lang="${tag}" dir="${direction}">`);
      expect(subject, name).toContain('Acme');
      const lines = linesOf(text);
      expect(lines.length, name).toBeGreaterThan(1);
      for (const line of lines) expect(readable(html), name).toContain(line.replace(/:$/, ''));
      if (link !== '') expect(html, name).toContain(`href="${link.replaceAll('&', '&amp;')}"`);
      expect(`${subject}\n${text}`, name).not.toMatch(/[{}]|undefined/);
      const letter = letters.get(name) ?? { kind: 'notice', content: {} };
      const addressed = {
        mailId: `tm_${name}`,
        tenantId: 'acme',
        tenantName: 'Acme',
        username: 'eve',
        issuer,
        link: 'te_x',
      };
      const written = english.write({ ...letter, ...addressed }, ['en']);
      // A sentence without its message would be in English.
      const same = linesOf(written.text).filter((line) => lines.includes(line));
      expect([subject === written.subject, same.length], name).toEqual([
        tag === 'en',
        tag === 'en' ? lines.length : 0,
      ]);
    }
    const texts = [...received.values()].map(({ headers, text }) =>
      `${headers['subject']}\n${text}`.replaceAll(/=t[le]_[\w-]+/g, ''),
    );
    expect(new Set(texts).size).toBe(letters.size);
  });
});
