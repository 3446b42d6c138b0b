package store_test

import (
	"testing"

	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func TestOpenTwice(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		for range 2 {
			s, err := store.Open(t.Context(), store.Options{Database: database})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.CheckSchema(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
