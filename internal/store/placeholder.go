package store

import (
	"strconv"
	"strings"
)

// positional rewrites $1, $2, … as ? when they are in order and each occurs once.
// SQLite takes $1 as a parameter's name and searches all names for each value it binds,
// which is most of the time of a statement with hundreds of them.
func positional(query string) string {
	var out strings.Builder
	rest, next := query, 1
	for {
		at := strings.IndexByte(rest, '$')
		if at < 0 {
			out.WriteString(rest)
			return out.String()
		}
		end := at + 1
		for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		if rest[at+1:end] != strconv.Itoa(next) {
			return query
		}
		out.WriteString(rest[:at])
		out.WriteByte('?')
		rest, next = rest[end:], next+1
	}
}
