#!/usr/bin/env bash
# sqlite.sh - a script of inserts, joins, text and sorting: the answers, and the database itself, must be the same.
source "$(dirname "$0")/common.sh"
need sqlite3
export HOME=$work # no .sqliterc

cat >script.sql <<'SQL'
PRAGMA journal_mode = off;
PRAGMA cache_size = -20000;
CREATE TABLE item (id INTEGER PRIMARY KEY, kind INTEGER, name TEXT, body BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120000)
    INSERT INTO item SELECT i, (i * 7919) % 1013, printf('%08x-%d', (i * 2654435761) % 4294967296, i % 97),
                            zeroblob((i * 31) % 700) FROM n;
CREATE INDEX by_kind ON item (kind, name);
SELECT kind, count(*), min(name), max(length(body)) FROM item GROUP BY kind ORDER BY 2 DESC, 1;
SELECT a.name, b.name FROM item a JOIN item b ON b.id = (a.kind * 113) % 120000 WHERE a.id % 17 = 0 
    ORDER BY a.name LIMIT 5000;
SELECT length(group_concat(name, ',')) FROM item;
UPDATE item SET name = upper(name) || substr(name, 1, 3) WHERE kind % 5 = 0;
DELETE FROM item WHERE id % 3 = 0;
SELECT sum(length(name)), total(length(body)) FROM item;
SELECT length(json_group_array(name)) FROM item;
VACUUM;
SELECT count(*) FROM (SELECT DISTINCT substr(name, 1, 5) FROM item);
PRAGMA integrity_check;
SQL
if ! sqlite3 :memory: "SELECT json_group_array(1)" >/dev/null 2>&1; then
    echo "left out: this SQLite has no JSON"
    sed -i '/json_/d' script.sql
fi
system sqlite3 system.db <script.sql >system.txt
jw sqlite3 jw.db <script.sql >jw.txt
grep -qx ok jw.txt
same system.txt jw.txt
same system.db jw.db
sha256sum jw.txt
