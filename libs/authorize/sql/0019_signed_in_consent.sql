-- When the person signed in who gave the consent; null for one that an earlier version recorded.
ALTER TABLE authorize.consent ADD COLUMN signed_in_at timestamptz;
