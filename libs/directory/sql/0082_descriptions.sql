-- What people read of scopes and applications, by language. Processes of the previous version leave the columns as they are.
ALTER TABLE directory.scope ADD COLUMN descriptions jsonb NOT NULL DEFAULT '{}';
ALTER TABLE directory.application
  ADD COLUMN description text NOT NULL DEFAULT '',
  ADD COLUMN descriptions jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN publisher text NOT NULL DEFAULT '',
  ADD COLUMN homepage text NOT NULL DEFAULT '';
