-- `attempts` numbers the claims of a delivery over all its steps and never goes back, so that a claim whose answer was lost is
-- void for good. Which of them were attempts of the present step is counted apart. Processes of the version before set
-- `attempts` back when a step is over; claims of this version are numbered above `uncounted` too, so they are new all the same.
ALTER TABLE device.delivery
  -- Claims up to this number are void or were no attempts: those of the steps before, and as many as were given back since.
  ADD COLUMN uncounted integer NOT NULL DEFAULT 0;
