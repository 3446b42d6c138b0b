package control_test

import (
	"context"
	"fmt"

	"github.com/lineshaft/lineshaft/internal/store"
)

func (b *bench) dump(ids []string) {
	_ = b.store.Write(context.Background(), func(ctx context.Context, tx *store.Tx) error {
		h, _ := tx.SlotHolder(ctx, "deploy")
		fmt.Println("slot:", h)
		if h != "" {
			ids = append(ids, h)
		}
		for _, id := range ids {
			r, err := tx.LockRun(ctx, id)
			fmt.Printf("%+v %v\n", r, err)
			ex, _ := tx.ListExecutions(ctx, id)
			for _, e := range ex {
				fmt.Printf("   exec %+v\n", e)
			}
			ev, _ := tx.ListEvents(ctx, id, 0, 100)
			for _, e := range ev {
				fmt.Printf("   ev %s %s %s %s\n", e.Time, e.ExecutionID, e.Type, e.Data)
			}
		}
		return nil
	})
}
