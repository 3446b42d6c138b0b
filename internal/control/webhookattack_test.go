package control_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// A key that a payload leaves empty does not count as a key: nobody may hold it.
func TestX10EmptyKeyFromAPayload(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.automation("one", "", concurrency("{{payload.id}}", lineshaft.PolicyQueue))
		for i := range 3 {
			d := w.deliver(fmt.Sprint(i), `{"id": ""}`)
			if len(d.Outcomes) != 1 || d.Outcomes[0].Result != lineshaft.ResultError || !strings.Contains(d.Outcomes[0].Reason, "payload.id") {
				w.Fatalf("%+v", d.Outcomes)
			}
		}
		var holder string
		w.write(func(ctx context.Context, tx *store.Tx) (err error) {
			holder, err = tx.SlotHolder(ctx, "")
			return err
		})
		if holder != "" {
			w.Errorf("run %s holds the empty key", holder)
		}
	})
}

// A sender cannot reach the runs of another automation, or another factory, by what
// it writes into a payload.
func TestX11KeysFromPayloadsAreTheAutomationsOwn(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.automation("trusted", `{"kind": ["trusted"]}`, concurrency("pr-{{payload.n}}", lineshaft.PolicyQueue))
		w.automation("public", `{"kind": ["public"]}`, concurrency("{{payload.ref}}", lineshaft.PolicyFollowup))
		first := w.deliver("1", `{"kind": "trusted", "n": 7}`)
		second := w.deliver("2", `{"kind": "public", "ref": "pr-7"}`)
		if first.Outcomes[0].Result != lineshaft.ResultStarted || second.Outcomes[0].Result != lineshaft.ResultStarted || first.Outcomes[0].RunID == second.Outcomes[0].RunID {
			w.Errorf("%+v, %+v", first.Outcomes, second.Outcomes)
		}
		again := w.deliver("3", `{"kind": "public", "ref": "pr-7"}`)
		if again.Outcomes[0].Result != lineshaft.ResultFollowedUp || again.Outcomes[0].RunID != second.Outcomes[0].RunID {
			w.Errorf("%+v", again.Outcomes)
		}
		// A key without a template is shared by the factory, but with nobody else.
		w.automation("deploy", `{"kind": ["deploy"]}`, concurrency("deploy", lineshaft.PolicySkip))
		outside := w.start(lineshaft.NewRun{Prompt: "p", Config: lineshaft.AgentConfig{Concurrency: &lineshaft.Concurrency{Key: "deploy"}}})
		if d := w.deliver("4", `{"kind": "deploy"}`); d.Outcomes[0].Result != lineshaft.ResultStarted {
			w.Errorf("run %s outside the factory held it up: %+v", outside.RunID, d.Outcomes)
		}
		if d := w.deliver("5", `{"kind": "deploy"}`); d.Outcomes[0].Result != lineshaft.ResultSkipped {
			w.Errorf("%+v", d.Outcomes)
		}
	})
}

// With the replay guard a new body is not lost because another one under its id was
// a replay, in the same batch.
func TestW10NewBodyBesideAReplay(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{ReplayGuard: true}, func(w *works) {
		w.automation("all", "")
		w.deliver("old", `{"body": "old"}`)
		h := w.ready()
		receipts, errs := w.s.AcceptTogether(w.Context(), received(h, "x", `{"body": "old"}`), received(h, "x", `{"body": "new"}`))
		for i, want := range []lineshaft.DeliveryStatus{lineshaft.DeliveryDuplicate, lineshaft.DeliveryAccepted} {
			if errs[i] != nil || receipts[i].Delivery.Status != want {
				w.Errorf("%d: %+v, %v", i, receipts[i].Delivery, errs[i])
			}
		}
	})
}

// A key that is limited to a factory cannot get at the team's secrets by naming them.
func TestS3LimitedManagerNamesNoSecrets(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		if _, err := w.s.CreateSecret(w.Context(), w.admin, lineshaft.Secret{Name: "TEAM_TOKEN"}, "a value of the team's"); err != nil {
			w.Fatal(err)
		}
		limited := w.caller(lineshaft.RoleManager, w.factory)
		n := lineshaft.Automation{Name: "a", Prompt: "p", Enabled: true, Triggers: []lineshaft.Trigger{w.trigger("")}}
		n.Config.Secrets = []string{"TEAM_TOKEN"}
		_, err := w.s.CreateAutomation(w.Context(), limited, w.factory, n)
		wantCode(w, err, lineshaft.CodeNotAuthorized)
		made := must[*lineshaft.Automation](w.bench)(w.s.CreateAutomation(w.Context(), w.admin, w.factory, n))
		prompt := "another prompt"
		_, err = w.s.UpdateAutomation(w.Context(), limited, w.factory, made.UID, factories.AutomationChange{Prompt: &prompt})
		wantCode(w, err, "")
		_, err = w.s.CreateWebhook(w.Context(), limited, w.factory, factories.NewWebhook{Name: "w", SecretName: "TEAM_TOKEN"})
		wantCode(w, err, lineshaft.CodeNotAuthorized)
	})
}

// A run that a delivery started is run again by redelivering: a rerun says so, whatever
// the automation gave it.
func TestR13RerunOfAWebhookRun(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.automation("plain", "")
		d := w.deliver("1", `{"kind": "plain"}`)
		_, err := w.s.Rerun(w.Context(), w.admin, d.Outcomes[0].RunID, lineshaft.SourceAPI, nil)
		wantCode(w, err, lineshaft.CodeNotSupported)
		if !strings.Contains(err.Error(), "/deliveries/"+d.ID+"/redeliver") {
			w.Errorf("%v", err)
		}
	})
}

// Too large bodies of a sender that is known do not use up the budget of failures.
func TestW11KnownSendersOfLargeBodies(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		large := trigger.Rejected{Hook: w.ready(), Status: lineshaft.DeliveryRejectedSize, Authentic: true, Size: 300_000}
		for range 60 {
			wantCode(w, w.s.Reject(w.Context(), large), "")
		}
		wantCode(w, w.s.Reject(w.Context(), large), lineshaft.CodeUnavailable)
		wantCode(w, w.s.Reject(w.Context(), trigger.Rejected{Hook: w.ready(), Status: lineshaft.DeliveryRejectedAuth}), "")
	})
}

// A batch is bounded by what it must write, not only by how many it is.
func TestW7HeavyDeliveriesShareLess(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		for i := range 40 {
			w.automation(fmt.Sprintf("a%02d", i), "", concurrency("{{payload.k}}", lineshaft.PolicyQueue))
		}
		h := w.ready()
		began := time.Now()
		var senders sync.WaitGroup
		for i := range 8 {
			senders.Go(func() {
				if _, err := w.s.Accept(w.Context(), received(h, fmt.Sprint(i), fmt.Sprintf(`{"k": %d}`, i))); err != nil {
					w.Error(err)
				}
			})
		}
		senders.Wait()
		w.Logf("320 runs with keys in %s", time.Since(began).Round(time.Millisecond))
		if weight := received(h, "x", `{"k": 1}`).Weight(); weight < 160 {
			w.Errorf("a delivery with 40 keyed runs weighs %d", weight)
		}
	})
}

// A node with an old copy looks again before it turns a sender away for the failures
// of others: the sender may have the newest secret.
func TestW6BlockedSenderWithTheNewSecret(t *testing.T) {
	t.Parallel()
	w := newWorks(t, storetest.Postgres(t), factories.NewWebhook{})
	other := w.node()
	failed := trigger.Rejected{Hook: other.ready(), Status: lineshaft.DeliveryRejectedAuth}
	for range 30 {
		wantCode(w, other.s.Reject(w.Context(), failed), "")
	}
	wantCode(w, other.s.Reject(w.Context(), failed), lineshaft.CodeUnavailable)
	if _, err := w.s.RotateWebhook(w.Context(), w.admin, w.factory, w.hook.UID, factories.WebhookRotation{}); err != nil {
		t.Fatal(err)
	}
	if err := other.s.Reject(w.Context(), failed); !errors.Is(err, trigger.ErrStale) {
		t.Errorf("%v", err)
	}
	failed.Hook = other.ready()
	wantCode(w, other.s.Reject(w.Context(), failed), lineshaft.CodeUnavailable)
}
