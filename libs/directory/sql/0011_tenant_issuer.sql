-- The issuer of a tenant that has its own; empty for the shared one. Two issuers differ in host or path, not only in scheme.
ALTER TABLE directory.tenant ADD COLUMN issuer text NOT NULL DEFAULT '';
CREATE UNIQUE INDEX tenant_issuer ON directory.tenant (split_part(issuer, '//', 2)) WHERE issuer <> '';

-- Whether other tenants of the same issuer may declare this audience too.
ALTER TABLE directory.api_resource ADD COLUMN shared boolean NOT NULL DEFAULT false;
