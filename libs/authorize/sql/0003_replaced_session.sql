-- The session of the same person that this one took the place of in their browser; its codes end with this one.
ALTER TABLE authorize.session ADD COLUMN replaces text;
