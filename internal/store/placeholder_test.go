package store

import "testing"

func TestPositional(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"SELECT 1":                            "SELECT 1",
		"SELECT $1, $2":                       "SELECT ?, ?",
		"SELECT $1, $1":                       "SELECT $1, $1",
		"SELECT $2, $1":                       "SELECT $2, $1",
		"VALUES ($1, $2), ($3, $4) LIMIT $5":  "VALUES (?, ?), (?, ?) LIMIT ?",
		"SELECT $1 WHERE x = $2 AND y = $1":   "SELECT $1 WHERE x = $2 AND y = $1",
		"SELECT CAST($1 AS TEXT), $2 || '$x'": "SELECT CAST($1 AS TEXT), $2 || '$x'",
	} {
		if got := positional(query); got != want {
			t.Errorf("positional(%q) = %q, want %q", query, got, want)
		}
	}
}
