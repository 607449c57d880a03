/** What `npm start` without configuration prints for the person at the terminal. */
export function banner(issuer: string, pid: number): string {
  return `
  Tessera is ready, with a demo tenant.

  Issuer        ${issuer}
  Try a token   curl -s ${issuer}/token -H 'content-type: application/json' -d '{"grantType":"client_credentials","clientId":"demo-service","clientSecret":"${demoServiceSecret}","scope":"orders.read"}'
  Try sign-in   ${issuer}/demo/   (ada, "correct horse battery staple")
  Stop          Ctrl-C, or kill ${pid}

`;
}

/** What it prints instead where something cannot answer yet; the lines above say why. */
export function notReady(services: readonly string[]): string {
  return `\n  Tessera started, but cannot answer everything: not ready are ${services.join(', ')}. The log above says why.\n\n`;
}

/** Stands in the demo file as well, for everyone to read. */
export const demoServiceSecret = 'demo-secret-not-for-production-0001';
