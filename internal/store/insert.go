package store

import (
	"context"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// inserts is a list of rows for one table, written in few statements.
type inserts struct {
	into   string // table (columns)
	suffix string
	width  int
	args   []any
}

func (i *inserts) row(parts ...any) {
	i.width = len(parts)
	i.args = append(i.args, parts...)
}

func (i *inserts) rows() int {
	if i.width == 0 {
		return 0
	}
	return len(i.args) / i.width
}

// maxParameters is what both engines take in one statement, with room to spare.
const maxParameters = 30_000

// statements cuts the rows into statements. On SQLite their sizes are powers of two: a
// prepared statement for each number of rows would be too many to keep. On PostgreSQL
// the round trips count.
func (i *inserts) statements(d *dialect, fn func(query string, args []any) error) error {
	if len(i.args) == 0 {
		return nil
	}
	most := maxParameters / i.width
	for from := 0; from < i.rows(); {
		n := min(i.rows()-from, most)
		if d.name == "sqlite" {
			n = min(1<<(bits.Len(uint(n))-1), 128)
		}
		if err := fn("INSERT INTO "+i.into+" VALUES "+d.tuples(i.width, n)+i.suffix, i.args[from*i.width:(from+n)*i.width]); err != nil {
			return fmt.Errorf("insert into %s: %w", i.table(), err)
		}
		from += n
	}
	return nil
}

func (i *inserts) table() string {
	name, _, _ := strings.Cut(i.into, " ")
	return name
}

// tuples is the text of a number of rows, each with a number of parameters. It is long
// and often needed, so it is made once.
func (d *dialect) tuples(width, rows int) string {
	key := [2]int{width, rows}
	if kept, ok := d.texts.Load(key); ok {
		if text, ok := kept.(string); ok {
			return text
		}
	}
	var b strings.Builder
	number := 0
	for row := range rows {
		if row > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('(')
		for column := range width {
			if column > 0 {
				b.WriteString(", ")
			}
			number++
			b.WriteString("$" + strconv.Itoa(number))
		}
		b.WriteByte(')')
	}
	d.texts.Store(key, b.String())
	return b.String()
}

func (tx *Tx) insert(ctx context.Context, i *inserts) error {
	_, err := tx.insertNew(ctx, i)
	return err
}

// insertNew writes the rows and counts those that were not there.
func (tx *Tx) insertNew(ctx context.Context, i *inserts) (written int, err error) {
	err = i.statements(tx.d, func(query string, args []any) error {
		n, err := tx.exec(ctx, query, args...)
		written += int(n)
		return err
	})
	return written, err
}
