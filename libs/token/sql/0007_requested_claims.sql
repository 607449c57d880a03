-- Claims that the authorization request asked for beside those of its scopes (OIDC Core section 5.5), for /userinfo and the ID token.
ALTER TABLE token.refresh_family
  ADD COLUMN userinfo_claims text[] NOT NULL DEFAULT '{}',
  ADD COLUMN id_token_claims text[] NOT NULL DEFAULT '{}';
