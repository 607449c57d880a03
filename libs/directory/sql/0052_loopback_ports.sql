-- Whether loopback redirect URIs match with every port. The previous version compares the port.
ALTER TABLE directory.application ADD COLUMN loopback_ports text NOT NULL DEFAULT 'exact';
