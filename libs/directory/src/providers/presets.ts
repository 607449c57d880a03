export const presetNames = ['none', 'google', 'entra', 'okta', 'keycloak', 'tessera'] as const;

/** What is known of providers of one make. It sets defaults and refuses mistakes; nothing else depends on it. */
interface Preset {
  readonly displayName?: string;
  readonly issuer?: string;
  /** What is wrong with an issuer, if something is. */
  issuerProblem?(issuer: string): string | undefined;
}

/** Endpoints of Entra ID for people of several directories; the tokens of each person have another `iss`. */
const severalDirectories = new Set(['common', 'organizations', 'consumers']);

export const presets: Readonly<Record<(typeof presetNames)[number], Preset>> = {
  none: {},
  google: { displayName: 'Google', issuer: 'https://accounts.google.com' },
  entra: {
    displayName: 'Microsoft',
    issuerProblem(issuer) {
      const [, directory = '', version] = new URL(issuer).pathname.split('/');
      if (severalDirectories.has(directory))
        return 'must name one directory, as https://login.microsoftonline.com/<directory id>/v2.0 does';
      return version === 'v2.0' ? undefined : 'must end with /v2.0';
    },
  },
  okta: { displayName: 'Okta' },
  keycloak: { displayName: 'Keycloak' },
  tessera: { displayName: 'Tessera' },
};
