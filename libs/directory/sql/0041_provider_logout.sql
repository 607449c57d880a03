-- Whether signing out here signs out at the provider, too.
ALTER TABLE directory.provider ADD COLUMN signs_out boolean NOT NULL DEFAULT false;
