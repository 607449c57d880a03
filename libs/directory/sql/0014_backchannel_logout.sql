-- Where an application is notified of ended sessions (OIDC Back-Channel Logout section 2.2); empty if it is not. Processes of the
-- version before leave it as it is.
ALTER TABLE directory.application
  ADD COLUMN backchannel_logout_uri text NOT NULL DEFAULT '',
  ADD COLUMN backchannel_logout_session_required boolean NOT NULL DEFAULT false;
