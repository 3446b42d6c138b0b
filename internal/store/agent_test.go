package store_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func newAgent(s *store.Store, factoryUID, name string) lineshaft.Agent {
	uid, at := s.NewID()
	return lineshaft.Agent{
		UID: uid, FactoryUID: factoryUID, Name: name, Type: lineshaft.AgentForeman, Description: "d", Prompt: "p <&> ü",
		Config: lineshaft.AgentConfig{ModelID: "m", Skills: []string{"o/r:s"}}, CreatedAt: at, UpdatedAt: at,
	}
}

// A factory's agents are listed by name, which is theirs alone.
func TestF2Agents(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		factory, other := rowID(s), rowID(s)
		b, a := newAgent(s, factory, "b"), newAgent(s, factory, "a")
		same := newAgent(s, other, "b")
		for _, agent := range []lineshaft.Agent{b, a, same} {
			write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.PutAgent(ctx, agent) })
		}
		err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			return tx.PutAgent(ctx, newAgent(s, factory, "b"))
		})
		wantCode(t, err, lineshaft.CodeConflict)
		for uid, want := range map[string][]lineshaft.Agent{factory: {a, b}, other: {same}, "none": nil} {
			if got, err := s.ListAgents(t.Context(), uid); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("agents %+v, %v; want %+v", got, err, want)
			}
		}
	})
}
