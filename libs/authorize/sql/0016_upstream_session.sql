-- The session at a provider that a session was made with: `provider`, `issuer`, `subject`, perhaps `sid` (OIDC Back-Channel Logout) and `hint`, its
-- ID token, encrypted under a cookie of the browser.
ALTER TABLE authorize.session ADD COLUMN upstream jsonb;
