-- The list of issuers names the algorithms that resources declare, of which few are not the default.
CREATE INDEX api_resource_signing_algorithm ON directory.api_resource (tenant_id, signing_algorithm)
  WHERE signing_algorithm <> 'RS256';
