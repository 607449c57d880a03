-- How a CIBA client gets its tokens (CIBA Core section 5), and where it is told of a decision; empty for `poll`.
ALTER TABLE directory.application
  ADD COLUMN ciba_delivery text NOT NULL DEFAULT 'poll' CHECK (ciba_delivery IN ('poll', 'ping', 'push')),
  ADD COLUMN ciba_notification_endpoint text NOT NULL DEFAULT '';
