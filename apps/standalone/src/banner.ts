/** Where a person finds what. */
export interface Addresses {
  readonly issuer: string;
  /** Absent: there is no console. */
  readonly consoleUrl: string | undefined;
}

/**
 * The output of `npm start` without configuration.
 * @param link of the first administrator; undefined if there is one
 */
export function banner({ issuer, consoleUrl }: Addresses, pid: number, link?: string): string {
  const console = consoleUrl === undefined ? '' : `Console       ${consoleUrl}\n  `;
  const administer =
    link === undefined
      ? ''
      : `Administer    ${link}\n                (once, within a day: the password of admin; then the console, or npm run -s tessera -- login)\n  `;
  return `
  Tessera is ready, with a demo tenant.

  Issuer        ${issuer}
  Try a token   curl -s ${issuer}/token -H 'content-type: application/json' -d '{"grantType":"client_credentials","clientId":"demo-service","clientSecret":"${demoServiceSecret}","scope":"orders.read"}'
  Try sign-in   ${issuer}/demo/   (ada, "correct horse battery staple")
  ${console}${administer}Stop          Ctrl-C, or kill ${pid}

`;
}

/** Printed instead if the server cannot answer yet; the lines above it say why. */
export function notReady(services: readonly string[]): string {
  return `\n  Tessera started, but cannot answer everything: not ready are ${services.join(', ')}. The log above says why.\n\n`;
}

/** Also in the published demo file. */
export const demoServiceSecret = 'demo-secret-not-for-production-0001';
