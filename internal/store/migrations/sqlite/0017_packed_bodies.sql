-- Bodies of deliveries may be packed from now on: they begin with a zero byte then. Programs
-- before this do not know that, and this number keeps them from opening the file.
SELECT 1;
