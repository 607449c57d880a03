-- Whether people may close their accounts. The previous version lets nobody.
ALTER TABLE directory.tenant ADD COLUMN account_closing boolean NOT NULL DEFAULT false;
