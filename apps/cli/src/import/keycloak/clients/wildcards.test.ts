import { describe, expect, it } from 'vitest';
import { movedClient, type Part } from '../../../testing/moved-realm.ts';

const spa = { publicClient: true, attributes: { 'post.logout.redirect.uris': '+' } };
const kept = (redirectUris: readonly string[], part: Part = spa) =>
  movedClient({ ...part, redirectUris }, { keepsWildcards: true });

describe('redirect URIs of Keycloak with a wildcard, where they are kept', () => {
  it('come as their beginnings, after a logout too, and each has a line', () => {
    const { application, leftOut } = kept(['https://web.example/*', 'https://web.example/cb']);
    expect(application).toMatchObject({
      redirectUris: ['https://web.example', 'https://web.example/cb'],
      redirectUriPrefixes: ['https://web.example/'],
      logoutRedirectUris: ['https://web.example', 'https://web.example/cb'],
      logoutRedirectUriPrefixes: ['https://web.example/'],
    });
    expect(application).not.toHaveProperty('status');
    expect(leftOut).toContain(
      'redirect URI https://web.example/* of application web: what begins so matches, with endpoints: keycloak',
    );
  });

  it('are absolute by the root of the client, and match after a logout only if they did', () => {
    const relative = { publicClient: true, rootUrl: 'https://web.example/app/' };
    const { application } = kept(['/*'], relative);
    expect(application).toMatchObject({ redirectUriPrefixes: ['https://web.example/app/'] });
    expect(application).not.toHaveProperty('logoutRedirectUriPrefixes');
  });

  it.each([
    '*',
    'https://web.example*',
    'https://*',
    'http://web.example/*',
    'https://*.web.example/*',
    'com.web:/*',
    '/*',
  ])('are refused where the beginning may lead elsewhere: %s', (uri) => {
    const { application, leftOut } = kept([uri]);
    expect(application).toMatchObject({ status: 'disabled' });
    expect(application).not.toHaveProperty('redirectUriPrefixes');
    expect(leftOut.join()).toMatch(/redirect URI .* of application web: (wildcards are refused|its host)/);
  });

  it('are refused for a client that need not send a code challenge, and without the option', () => {
    const uris = ['https://web.example/*'];
    expect(kept(uris, {}).application).toMatchObject({ status: 'disabled' });
    const challenged = { attributes: { 'pkce.code.challenge.method': 'S256' } };
    expect(kept(uris, challenged).application).toMatchObject({
      redirectUriPrefixes: ['https://web.example/'],
    });
    expect(movedClient({ ...spa, redirectUris: uris }).application).toMatchObject({ status: 'disabled' });
  });
});
