-- SQLite packs bodies of deliveries from now on, and this number keeps older programs from its
-- files. PostgreSQL packs long values itself.
SELECT 1;
