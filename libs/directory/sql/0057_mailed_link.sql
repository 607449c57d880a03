-- The digest of the link that was mailed, in hexadecimal, a space, and the address that it was mailed to, as identifiers are compared; empty, or
-- null, for a link that somebody handed out. A process of the previous version that puts another link in its place leaves this as it is, so it
-- says nothing of that one.
ALTER TABLE directory.password_link ADD COLUMN mailed text;
