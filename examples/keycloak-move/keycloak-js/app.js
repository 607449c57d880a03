import Keycloak from '/keycloak.js';

const keycloak = new Keycloak({
  url: 'http://localhost:19496',
  realm: 'harbour',
  clientId: 'harbour-spa',
});
// What its buttons would call.
globalThis.keycloak = keycloak;
await keycloak.init({ onLoad: 'login-required' });
document.querySelector('#claims').textContent = JSON.stringify(keycloak.tokenParsed);
