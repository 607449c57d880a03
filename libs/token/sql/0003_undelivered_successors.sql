-- What the last rotation changed: put back when its successor could not be handed out, so that a refused refresh neither
-- makes a family live longer nor its token look younger.
ALTER TABLE token.refresh_family
  ADD COLUMN previous_rotated_at timestamptz,
  ADD COLUMN previous_idle_expires_at timestamptz;
