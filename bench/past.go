package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// ingressHistory is how many deliveries there are before the first is measured.
	ingressHistory = 300_000
	// pastAge is how old they are: young enough to be kept.
	pastAge = time.Hour
	// pastRows is how many rows one statement inserts.
	pastRows = 200
)

// past makes earlier deliveries. Their ids are in the order of time, their
// identities in none: an index over these is as full and as scattered as in life.
type past struct{ prefix string }

func newPast() past {
	h := fmt.Sprintf("%012x", time.Now().Add(-pastAge).UnixMilli())
	return past{h[:8] + "-" + h[8:] + "-7000-8000-"}
}

func (p past) id(i int) string { return p.prefix + fmt.Sprintf("%012x", i) }

func (p past) identity(i int) string {
	sum := sha256.Sum256([]byte(p.id(i)))
	return hex.EncodeToString(sum[:16])
}

// digest has the form of those in our table of identities.
func (p past) digest(i int) string {
	sum := sha256.Sum256([]byte(p.id(i)))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// insertMany inserts rows, in one transaction.
func insertMany(ctx context.Context, db *sql.DB, engine, into string, columns, rows int, row func(i int) []any) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing to undo once it is committed
	whole := rows - rows%pastRows
	for _, part := range []struct{ from, until, step int }{{0, whole, pastRows}, {whole, rows, 1}} {
		stmt, err := tx.PrepareContext(ctx, "INSERT INTO "+into+" VALUES "+placeholders(engine, part.step, columns))
		if err != nil {
			return err
		}
		defer func() { _ = stmt.Close() }() // with the transaction, at the latest
		for from := part.from; from < part.until; from += part.step {
			args := make([]any, 0, part.step*columns)
			for i := range part.step {
				args = append(args, row(from+i)...)
			}
			if _, err := stmt.ExecContext(ctx, args...); err != nil {
				return err
			}
		}
	}
	return tx.Commit()
}

// placeholders writes (…), (…) for rows of parameters.
func placeholders(engine string, rows, columns int) string {
	sign := "?"
	if engine == postgres {
		sign = "$"
	}
	var out strings.Builder
	for i := range rows * columns {
		switch {
		case i == 0:
			out.WriteString("(")
		case i%columns == 0:
			out.WriteString("), (")
		default:
			out.WriteString(", ")
		}
		out.WriteString(sign + strconv.Itoa(i+1))
	}
	return out.String() + ")"
}
