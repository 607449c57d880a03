-- The domain of a tenant's passkeys (WebAuthn L3 §4, RP ID): that of its own issuer, or of the shared one.
ALTER TABLE directory.tenant ADD COLUMN passkey_domain text NOT NULL DEFAULT 'own' CHECK (passkey_domain IN ('own', 'shared'));
