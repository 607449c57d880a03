-- The algorithm that signs a resource's access tokens. Processes of version 0.1 leave it as it is and sign with RS256. The algorithms are those
-- of `oauth`, so that a new one needs no migration.
ALTER TABLE directory.api_resource ADD COLUMN signing_algorithm text NOT NULL DEFAULT 'RS256';
