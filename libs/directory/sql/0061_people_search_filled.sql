-- Outside a transaction.
CALL directory.index_people();
