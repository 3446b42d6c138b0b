package store_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

var (
	scheduler = lineshaft.Principal{UID: "u1", Type: lineshaft.User, DisplayName: "Ann", Email: "ann@example.com"}
	editor    = lineshaft.Principal{UID: "u2", Type: lineshaft.ServiceAccount, DisplayName: "Bot"}
)

func aSchedule(id, name string) lineshaft.Schedule {
	at := time.UnixMicro(1_700_000_000_000_000).UTC()
	return lineshaft.Schedule{
		ID: id, Name: name, Timing: lineshaft.Timing{Cron: "0 9 * * *", Timezone: "Europe/Berlin", Overlap: lineshaft.OverlapSkip}, Enabled: true,
		Prompt: "p", AgentUID: "a1", FactoryUID: "f1", Config: lineshaft.AgentConfig{ModelID: "m"}, Metadata: map[string]string{"k": "v"},
		Creator: scheduler, Editor: scheduler, CreatedAt: at, UpdatedAt: at,
	}
}

// putSchedule stores a schedule with its timer.
func putSchedule(t *testing.T, s *store.Store, one lineshaft.Schedule) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(
			tx.PutPrincipal(ctx, scheduler, one.CreatedAt), tx.PutPrincipal(ctx, editor, one.CreatedAt),
			tx.PutTimer(ctx, store.Timer{Owner: store.ScheduleTimer(one.ID), Timing: one.Timing, NextAt: one.NextRun, Slot: "s"}),
			tx.PutSchedule(ctx, one))
	})
}

func TestF9SchedulesAreStored(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		one := aSchedule("s1", "nightly")
		one.NextRun = one.CreatedAt.Add(time.Hour)
		putSchedule(t, s, one)
		got, err := s.GetSchedule(t.Context(), "s1")
		must(t, err)
		if !reflect.DeepEqual(*got, one) {
			t.Fatalf("stored %+v\nread   %+v", one, *got)
		}
		// A change keeps who made it, and what it has done.
		ran := one.CreatedAt.Add(time.Minute)
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.NoteSpawn(ctx, "s1", ran, "") })
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.NoteSpawn(ctx, "s1", ran, "no agent") })
		changed := one
		changed.Name, changed.Enabled, changed.Prompt, changed.Metadata, changed.Creator, changed.Editor = "weekly", false, "q", nil, editor, editor
		changed.AgentUID, changed.FactoryUID, changed.Config = "", "", lineshaft.AgentConfig{}
		changed.CreatedAt, changed.UpdatedAt, changed.NextRun = ran, ran, time.Time{}
		putSchedule(t, s, changed)
		changed.Creator, changed.CreatedAt, changed.LastRun, changed.LastError = scheduler, one.CreatedAt, ran, "no agent"
		got, err = s.GetSchedule(t.Context(), "s1")
		must(t, err)
		if !reflect.DeepEqual(*got, changed) {
			t.Fatalf("wanted %+v\nread   %+v", changed, *got)
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.NoteSpawn(ctx, "s1", ran, "") })
		if got, err = s.GetSchedule(t.Context(), "s1"); err != nil || got.LastError != "" {
			t.Fatalf("a run that started leaves the error %q %v", got.LastError, err)
		}
	})
}

func TestF9SchedulesAreListedByName(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for _, one := range []lineshaft.Schedule{aSchedule("s3", "b"), aSchedule("s1", "c"), aSchedule("s2", "a"), aSchedule("s0", "b")} {
			putSchedule(t, s, one)
		}
		all, _, err := s.PageSchedules(t.Context(), nil, store.ScheduleKey{}, 10)
		must(t, err)
		order := ""
		for _, one := range all {
			order += one.ID
		}
		if order != "s2s0s3s1" {
			t.Errorf("order is %s", order)
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSchedule(ctx, "s0") })
		_, err = s.GetSchedule(t.Context(), "s0")
		wantCode(t, err, lineshaft.CodeNotFound)
		err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return second(tx.LockTimer(ctx, "schedule/s0")) })
		wantCode(t, err, lineshaft.CodeNotFound)
		err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSchedule(ctx, "s0") })
		wantCode(t, err, lineshaft.CodeNotFound)
	})
}
