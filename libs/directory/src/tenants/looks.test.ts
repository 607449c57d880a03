import { describe, expect, it } from 'vitest';
import { forDarkPages, isReadable } from './contrast.ts';
import { looks, noLooks, sentLooks } from './looks.ts';

/** The head of a PNG image of this size, with `bytes` altogether. */
function png(width: number, height: number, bytes = 100): string {
  const image = Buffer.alloc(bytes);
  image.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]);
  image.write('IHDR', 12);
  image.writeUInt32BE(width, 16);
  image.writeUInt32BE(height, 20);
  return `data:image/png;base64,${image.toString('base64')}`;
}

const problemsOf = (declared: object) =>
  looks.safeParse(declared).error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? [];

const svg = `data:image/svg+xml;base64,${Buffer.from('<svg onload="alert(1)"/>').toString('base64')}`;
const notPng = 'logo: must be a PNG image, as data:image/png;base64,...';

describe('the looks of a tenant', () => {
  it('are the usual ones unless they are declared', () => {
    expect(looks.parse(undefined)).toEqual(noLooks);
    expect(looks.parse({ accentColor: '#0f766e' })).toEqual({ ...noLooks, accentColor: '#0f766e' });
  });

  it.each([
    ['an address', 'https://acme.example/logo.png', notPng],
    ['SVG, which may have script', svg, notPng],
    ['SVG that says it is PNG', svg.replace('svg+xml', 'png'), notPng],
    ['what is not base64', 'data:image/png;base64,"><script>', notPng],
    ['an empty image', 'data:image/png;base64,', notPng],
    [
      'a picture that is huge once it is unpacked',
      png(30_000, 8),
      'logo: must have at most 1024 pixels a side',
    ],
    ['more than 16 KiB', png(8, 8, 16 * 1024 + 1), 'logo: must have at most 16 KiB'],
  ])('have no logo that is %s', (_what, logo, problem) => expect(problemsOf({ logo })).toEqual([problem]));

  it('have a logo of 16 KiB', () => expect(problemsOf({ logo: png(1024, 1024, 16 * 1024) })).toEqual([]));

  it.each(['red', '#fff', '#3D52D5', '#3d52d5;}', 'url(//evil)'])('have no colour %j', (accentColor) =>
    expect(problemsOf({ accentColor })).toEqual([
      'accentColor: must be a colour such as "#3d52d5", in lower case',
    ]),
  );

  it('have colours that can be read in their scheme (WCAG 2.2 section 1.4.3)', () => {
    expect(problemsOf({ accentColor: '#0f766e', accentColorDark: '#5eead4' })).toEqual([]);
    expect(problemsOf({ accentColor: '#5eead4', accentColorDark: '#0f3d39' })).toEqual([
      'accentColor: must have a contrast of at least 4.5:1 with light pages (WCAG 2.2, AA)',
      'accentColorDark: must have a contrast of at least 4.5:1 with dark pages (WCAG 2.2, AA)',
    ]);
  });

  it.each([
    'http://acme.example/terms',
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'https://u:p@acme.example/',
    'https://a.example/ b',
    '/terms',
  ])('have no link to %j', (tosUri) =>
    expect(problemsOf({ tosUri })).toEqual(['tosUri: must be an https URL']),
  );
});

describe('what pages get of the looks of a tenant', () => {
  it('is the image, and a colour for dark pages wherever there is one for light ones', () => {
    const sent = sentLooks({
      ...noLooks,
      logo: png(8, 8),
      accentColor: '#0f766e',
      tosUri: 'https://acme.example/',
    });
    expect(sent.logo.toString('latin1', 1, 4)).toBe('PNG');
    expect(sent.accentColorDark).toBe(forDarkPages('#0f766e'));
    expect(sent).toMatchObject({ accentColor: '#0f766e', tosUri: 'https://acme.example/', policyUri: '' });
    expect(
      sentLooks({ ...noLooks, accentColor: '#0f766e', accentColorDark: '#5eead4' }).accentColorDark,
    ).toBe('#5eead4');
    expect(sentLooks(noLooks)).toMatchObject({ logo: Buffer.alloc(0), accentColor: '', accentColorDark: '' });
  });
});

describe('the contrast of colours', () => {
  it('follows WCAG 2.2: #767676 is the lightest grey on white, and not enough for our background', () => {
    expect(isReadable('#767676', 'light')).toBe(false);
    expect(isReadable('#707070', 'light')).toBe(true);
    expect(isReadable('#000000', 'light')).toBe(true);
    expect(isReadable('#000000', 'dark')).toBe(false);
    expect(isReadable('#ffffff', 'dark')).toBe(true);
  });

  it('is enough in the dark for a colour of light pages once it is lightened', () => {
    for (const color of ['#000000', '#0f766e', '#3d52d5', '#7f1d1d']) {
      expect(isReadable(forDarkPages(color), 'dark')).toBe(true);
    }
    expect(forDarkPages('#a3b1ff')).toBe('#a3b1ff');
  });
});
