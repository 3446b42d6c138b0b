package store

import (
	"context"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// inserts is a list of rows for one table, written in few statements; or, without a table,
// for a statement that names them.
type inserts struct {
	into   string // table (columns)
	suffix string
	// forms are how the values of a row are written, with %s for the parameter; nil is the
	// parameters alone.
	forms []string
	width int
	args  []any
}

// casts are forms for rows without a table: PostgreSQL cannot guess their types there.
func casts(types ...string) []string {
	forms := make([]string, len(types))
	for i, t := range types {
		forms[i] = "CAST(%s AS " + t + ")"
	}
	return forms
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

// mostRows bounds the rows of a statement that both engines keep prepared.
const mostRows = 128

// statements cuts the rows into statements whose sizes are powers of two: a prepared
// statement for each number of rows would be too many to keep.
func (i *inserts) statements(d *dialect, fn func(query string, args []any) error) error {
	if len(i.args) == 0 {
		return nil
	}
	for from := 0; from < i.rows(); {
		n := min(1<<(bits.Len(uint(i.rows()-from))-1), mostRows, maxParameters/i.width)
		if err := fn("INSERT INTO "+i.into+" VALUES "+i.tuples(d, n)+i.suffix, i.args[from*i.width:(from+n)*i.width]); err != nil {
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

// padded is all rows for one statement, which must not mind that the last of them is there
// several times: the sizes of statements are then few.
func (i *inserts) padded(d *dialect) (text string, args []any) {
	last := i.args[len(i.args)-i.width:]
	for n := roomier(i.rows()); i.rows() < n; {
		i.args = append(i.args, last...)
	}
	return i.tuples(d, i.rows()), i.args
}

// roomier rounds a number of values up to 1, 2, 3, 4, 6, 8, 12, 16 and so on. Large ones are
// rare: it leaves them as they are.
func roomier(n int) int {
	if n < 4 || n > 1024 {
		return n
	}
	half := 1 << (bits.Len(uint(n-1)) - 1)
	if n <= half+half/2 {
		return half + half/2
	}
	return 2 * half
}

// tuples is the text of a number of rows. It is long and often needed, so it is made once.
func (i *inserts) tuples(d *dialect, rows int) string {
	type size struct {
		forms       string
		width, rows int
	}
	key := size{strings.Join(i.forms, ","), i.width, rows}
	if kept, ok := d.texts.Load(key); ok {
		if text, ok := kept.(string); ok {
			return text
		}
	}
	var b strings.Builder
	for number := range rows * i.width {
		switch {
		case number == 0:
			b.WriteByte('(')
		case number%i.width == 0:
			b.WriteString("), (")
		default:
			b.WriteString(", ")
		}
		before, after := "", ""
		if i.forms != nil {
			before, after, _ = strings.Cut(i.forms[number%i.width], "%s")
		}
		b.WriteString(before + "$" + strconv.Itoa(number+1) + after)
	}
	b.WriteByte(')')
	d.texts.Store(key, b.String())
	return b.String()
}

func (tx *Tx) insert(ctx context.Context, i *inserts) error {
	return i.statements(tx.d, func(query string, args []any) error {
		_, err := tx.exec(ctx, query, args...)
		return err
	})
}

// sendRows is insert for rows that nothing depends on until the commit; see send.
func (tx *Tx) sendRows(ctx context.Context, i *inserts) error {
	return i.statements(tx.d, func(query string, args []any) error {
		return tx.send(ctx, "insert into "+i.table(), query, args...)
	})
}

// insertNew writes the rows that are not there yet, and counts them. It is one statement,
// because it waits for the answer; the suffix must pass over rows that are there.
func (tx *Tx) insertNew(ctx context.Context, i *inserts) (written int64, err error) {
	text, args := i.padded(tx.d)
	if written, err = tx.exec(ctx, "INSERT INTO "+i.into+" VALUES "+text+i.suffix, args...); err != nil {
		return 0, fmt.Errorf("insert into %s: %w", i.table(), err)
	}
	return written, nil
}
