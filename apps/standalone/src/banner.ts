/** What `npm start` without configuration prints for the person at the terminal. */
export function banner(issuer: string): string {
  return `
  Tessera is ready, with a demo tenant and embedded stores.

  Issuer        ${issuer}
  Try a token   curl -s ${issuer}/token -H 'content-type: application/json' -d '{"grantType":"client_credentials","clientId":"demo-service","clientSecret":"${demoServiceSecret}","scope":"orders.read"}'
  Try sign-in   ${issuer}/demo/   (ada, "correct horse battery staple")

`;
}

/** Stands in the demo file as well, for everyone to read. */
export const demoServiceSecret = 'demo-secret-not-for-production-0001';
