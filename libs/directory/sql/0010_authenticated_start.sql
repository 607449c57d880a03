-- Whether a confidential application must authenticate when it starts a device or backchannel request. Processes of the version
-- before leave it as it is.
ALTER TABLE directory.application
  ADD COLUMN authenticated_start text NOT NULL DEFAULT 'optional' CHECK (authenticated_start IN ('optional', 'required'));
