package control_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/overview"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/store"
)

// attention is what is shown to someone, by kind.
func (b *bench) attention(c lineshaft.Caller) map[overview.AttentionKind][]overview.Attention {
	b.Helper()
	found := map[overview.AttentionKind][]overview.Attention{}
	for _, a := range b.overview(c, overview.LastDay).Attention {
		found[a.Kind] = append(found[a.Kind], a)
	}
	return found
}

func TestI2AttentionForRuns(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{Title: "asks"})
		b.ask(job, lineshaft.PromptTurn, "1")
		got := b.attention(b.admin)[overview.AttentionBlocked]
		if len(got) != 1 || got[0].ID != runID || got[0].Name != "asks" || got[0].State != lineshaft.Blocked || got[0].At.IsZero() || got[0].More {
			b.Errorf("blocked: %+v", got)
		}
		for i := range 5 {
			b.past("f1", []lineshaft.RunState{lineshaft.Failed, lineshaft.Errored}[i%2], b.store.Now().Add(-time.Duration(i)*time.Hour), lineshaft.CodeRunTimeout)
		}
		b.past("f2", lineshaft.Failed, b.store.Now().Add(-25*time.Hour), lineshaft.CodeRunTimeout)
		for _, who := range []lineshaft.Caller{b.admin, b.caller(lineshaft.RoleViewer, "f1", "f2")} {
			failed := b.attention(who)[overview.AttentionFailed]
			if len(failed) != 3 || !failed[2].More || failed[1].More || failed[0].At.Before(failed[1].At) || failed[1].At.Before(failed[2].At) || failed[1].State != lineshaft.Errored {
				b.Errorf("failed for %v: %+v", who.FactoryUIDs, failed)
			}
		}
		if other := b.attention(b.caller(lineshaft.RoleViewer, "f2")); len(other) != 0 {
			b.Errorf("for f2: %+v", other)
		}
	})
}

func TestI2AttentionForTheQueue(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		away := lineshaft.NewRun{Config: lineshaft.AgentConfig{WorkerHost: "mac"}}
		b.start(away)
		b.start(away)
		if got := b.attention(b.admin); len(got) != 0 {
			b.Errorf("a worker may take a moment: %+v", got)
		}
		b.clock.advance(time.Minute)
		got := b.attention(b.admin)
		if missing := got[overview.AttentionWorker]; len(missing) != 1 || missing[0].ID != "mac" || missing[0].Count != 2 || len(got) != 1 {
			b.Errorf("no worker: %+v", got)
		}
		b.clock.advance(time.Hour)
		b.claimFor("mac", 1) // it comes, and takes one
		got = b.attention(b.admin)
		if old := got[overview.AttentionQueue]; len(old) != 1 || old[0].Count != 1 || b.store.Now().Sub(old[0].At) < time.Hour || len(got) != 1 {
			b.Errorf("old queue: %+v", got)
		}
		if other := b.attention(b.caller(lineshaft.RoleViewer, "f2")); len(other) != 0 {
			b.Errorf("for f2: %+v", other)
		}
	})
}

func TestI2AttentionForFactories(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		mine, other := b.factory("Mine", ""), b.factory("Other", "")
		for _, f := range []*lineshaft.Factory{mine, other} {
			b.write(func(ctx context.Context, tx *store.Tx) error {
				uid, at := b.store.NewID()
				hook := store.Webhook{Webhook: lineshaft.Webhook{UID: uid, FactoryUID: f.UID, Name: "unfinished", AuthMode: lineshaft.AuthToken, NeedsSecret: true, MaxBodyBytes: 1, CreatedAt: at, UpdatedAt: at}}
				return tx.PutWebhook(ctx, hook)
			})
			made := must[factories.IssuedWebhook](b)(b.s.CreateWebhook(b.Context(), b.admin, f.UID, factories.NewWebhook{Name: "hook"}))
			hook := must[*trigger.Hook](b)(b.s.LoadHook(b.Context(), f.UID, made.UID))
			for range 2 {
				wantCode(b, b.s.Reject(b.Context(), trigger.Rejected{Hook: hook, Status: lineshaft.DeliveryRejectedAuth, Source: netip.MustParseAddr("192.0.2.1")}), "")
			}
			b.write(func(ctx context.Context, tx *store.Tx) error {
				if err := tx.PutRepository(ctx, f.UID, lineshaft.GitSource{URL: "https://example.com/a/b.git"}); err != nil {
					return err
				}
				status, err := tx.TakeRepository(ctx, f.UID, "me", time.Minute)
				if err != nil {
					return err
				}
				status.Problems = []lineshaft.FileProblem{{File: "factory.yaml", Line: 3, Message: "no such field"}, {}}
				_, err = tx.NoteRepository(ctx, "me", *status, time.Minute)
				return err
			})
		}
		for _, who := range []lineshaft.Caller{b.caller(lineshaft.RoleViewer, mine.UID), b.admin} {
			got, want := b.attention(who), 2-len(who.FactoryUIDs)
			for _, kind := range []overview.AttentionKind{overview.AttentionSecret, overview.AttentionRefused, overview.AttentionRepository} {
				if len(got[kind]) != want {
					b.Fatalf("%s for %v: %+v", kind, who.FactoryUIDs, got[kind])
				}
				if want == 1 && (got[kind][0].FactoryUID != mine.UID || got[kind][0].FactoryName != "Mine" || got[kind][0].ID == "") {
					b.Errorf("%s: %+v", kind, got[kind])
				}
			}
			if a := got[overview.AttentionRefused][0]; a.Count != 2 || a.Reason != string(lineshaft.DeliveryRejectedAuth) || a.At.IsZero() || a.Name != "hook" {
				b.Errorf("%+v", a)
			}
			if a := got[overview.AttentionRepository][0]; a.Count != 2 || a.Reason != "factory.yaml:3: no such field" {
				b.Errorf("%+v", a)
			}
		}
		b.clock.advance(2 * time.Hour)
		if got := b.attention(b.admin); len(got[overview.AttentionRefused]) != 0 || len(got[overview.AttentionSecret]) != 2 {
			b.Errorf("later: %+v", got)
		}
	})
}

func TestI2AttentionForSchedules(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		n := trigger.NewSchedule{Name: "nightly", Timing: lineshaft.Timing{Cron: "0 3 * * *"}, Enabled: true, Prompt: "p"}
		made := must[*lineshaft.Schedule](b)(b.s.CreateSchedule(b.Context(), b.admin, n))
		if got := b.attention(b.admin); len(got) != 0 {
			b.Errorf("%+v", got)
		}
		b.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.NoteSpawn(ctx, made.ID, b.store.Now(), "the agent is gone")
		})
		got := b.attention(b.admin)[overview.AttentionSchedule]
		if len(got) != 1 || got[0].ID != made.ID || got[0].Name != "nightly" || !strings.Contains(got[0].Reason, "gone") {
			b.Errorf("%+v", got)
		}
		if other := b.attention(b.caller(lineshaft.RoleViewer, "f2")); len(other) != 0 {
			b.Errorf("for f2: %+v", other)
		}
	})
}
