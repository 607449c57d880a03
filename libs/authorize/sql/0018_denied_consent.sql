-- The visit in which a person denied what they are asked, so that no form of it allows the same.
ALTER TABLE authorize.consent ADD COLUMN denied_visit bytea;
