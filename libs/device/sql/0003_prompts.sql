-- Requests that the notification system of a tenant is to be told of wait in the same table, under the mode `prompt`. One that
-- waits for nobody has no user and is removed unsent, so that keeping it takes a start the same time as any other.
ALTER TABLE device.delivery
  DROP CONSTRAINT delivery_mode_check,
  DROP CONSTRAINT delivery_outcome_check,
  ADD CONSTRAINT delivery_mode_check CHECK (mode IN ('ping', 'push', 'prompt')),
  ADD CONSTRAINT delivery_outcome_check CHECK (outcome IN ('approved', 'denied', 'failed', 'pending'));
