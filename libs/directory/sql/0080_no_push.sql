-- Version 0.1 stored applications with CIBA push, which poll since. What is stored says so now, and changes again.
UPDATE directory.application SET ciba_delivery = 'poll' WHERE ciba_delivery = 'push';
