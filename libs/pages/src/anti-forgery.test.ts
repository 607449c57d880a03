import { describe, expect, it } from 'vitest';
import { antiForgery, type SentForm } from './anti-forgery.ts';

const browserId = `tb_${'a'.repeat(43)}`;
const form = (overrides: Partial<SentForm> = {}): SentForm => ({
  browserId,
  purpose: 'login\0ti_1',
  token: antiForgery.token(browserId, 'login\0ti_1'),
  issuer: 'https://id.example.com',
  origin: 'https://id.example.com',
  fetchSite: 'same-origin',
  ...overrides,
});

describe('antiForgery', () => {
  it.each([
    {},
    { origin: undefined },
    { origin: 'null' },
    { fetchSite: undefined },
    { origin: undefined, fetchSite: undefined },
  ])('accepts a form of the same browser with %j', (overrides) => {
    expect(() => antiForgery.check(form(overrides))).not.toThrow();
  });

  it.each([
    { token: '' },
    { token: 'x' },
    { token: antiForgery.token(browserId, 'login\0ti_2') },
    { token: antiForgery.token(browserId, 'logout') },
    { token: antiForgery.token(`tb_${'b'.repeat(43)}`, 'login\0ti_1') },
    { browserId: '', token: antiForgery.token('', 'login\0ti_1') },
    { origin: 'https://evil.example' },
    { origin: 'https://id.example.com.evil.example' },
    { origin: 'http://id.example.com' },
    { fetchSite: 'cross-site' },
    { fetchSite: 'same-site' },
    { fetchSite: 'none' },
    { fetchSite: '' },
  ])('refuses a form with %j', (overrides) => {
    expect(() => antiForgery.check(form(overrides))).toThrow(/no longer valid in this browser/);
  });
});
