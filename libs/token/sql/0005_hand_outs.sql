-- How many attempts hold the live generation and have not failed: the one that made it, and those that fetched it again.
-- It counts as not handed out only once every one of them failed.
ALTER TABLE token.refresh_family ADD COLUMN hand_outs integer NOT NULL DEFAULT 1;
