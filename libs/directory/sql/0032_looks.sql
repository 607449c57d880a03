-- Logo, colours and links of a tenant's pages. The previous version shows none.
ALTER TABLE directory.tenant ADD COLUMN looks jsonb NOT NULL
  DEFAULT '{"logo": "", "accentColor": "", "accentColorDark": "", "tosUri": "", "policyUri": ""}';
