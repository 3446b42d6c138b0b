package store_test

import (
	"context"
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// The log of writes begins again long before SQLite itself would see to it in a commit.
func TestD3LogOfWritesBeginsAgain(t *testing.T) {
	t.Parallel()
	file := storetest.SQLite(t)
	s, err := store.Open(t.Context(), store.Options{Database: file})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	write := func(name, value string) {
		must(t, s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value)
			return err
		}))
	}
	large := strings.Repeat("x", 1<<20)
	write("large", large)
	begun, size := logBegun(t, file), 0
	for i := 0; logBegun(t, file) == begun; i++ {
		if size += len(large); i >= 24 { // small ones leave the writer time to see that the log is long
			size += 8<<10 - len(large)
			write("small", large[:i%2000])
		} else {
			write("large", large[i:])
		}
		if size > 60<<20 { // SQLite itself waits for 64 MB
			t.Fatal("the log of writes only grows")
		}
	}
}

// logBegun is how often the log of writes of a database has begun again (the checkpoint sequence
// number of its header).
func logBegun(t *testing.T, file string) uint32 {
	t.Helper()
	f, err := os.Open(file + "-wal")
	must(t, err)
	defer f.Close()
	var head [16]byte
	_, err = f.ReadAt(head[:], 0)
	must(t, err)
	return binary.BigEndian.Uint32(head[12:])
}
