package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// Two children of one root that count the artifacts of the tree and add one each do so one
// after the other: the second sees what the first added.
func TestR11TreeArtifactsAreCountedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		root := insertRun(t, s, nil)
		child := func(n *store.NewRun) { n.Head.ParentRunID, n.Ancestors, n.RootRunID = root, []string{root}, root }
		children := []string{insertRun(t, s, child), insertRun(t, s, child)}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.GrowTree(ctx, []string{root}, lineshaft.Budget{}, root)
			return err
		})
		counted := make(chan int, len(children))
		add := func(run string, meanwhile func()) error {
			return s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				h, err := tx.LockRun(ctx, run)
				if err != nil {
					return err
				}
				n, _, err := tx.CountTreeArtifacts(ctx, run)
				if err != nil {
					return err
				}
				meanwhile()
				counted <- n
				uid, _ := s.NewID()
				return tx.InsertArtifact(ctx, h, lineshaft.Artifact{UID: uid, Type: lineshaft.ArtifactFile, FileName: "f", SizeBytes: 1})
			})
		}
		second, early := make(chan error, 1), make(chan struct{})
		must(t, add(children[0], func() {
			go func() { second <- add(children[1], func() { close(early) }) }()
			select {
			case <-early:
				t.Error("both counted before either added")
			case <-time.After(200 * time.Millisecond): // it waits; nothing says so on both engines
			}
		}))
		must(t, <-second)
		if first, then := <-counted, <-counted; first != 0 || then != 1 {
			t.Errorf("counted %d, then %d", first, then)
		}
	})
}
