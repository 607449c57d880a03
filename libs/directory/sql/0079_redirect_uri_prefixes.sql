-- Beginnings of redirect URIs. The previous version knows none, and compares whole URIs.
ALTER TABLE directory.application
  ADD COLUMN redirect_uri_prefixes text[] NOT NULL DEFAULT '{}',
  ADD COLUMN logout_redirect_uri_prefixes text[] NOT NULL DEFAULT '{}';
