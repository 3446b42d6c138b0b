package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// hostile is a text that is six times as long in JSON that is safe in HTML.
func hostile(length int) string { return strings.Repeat("<", length) }

// FillWebhook gives a factory a webhook with a log of so many deliveries, each with as many
// outcomes as one may have, and automations that do not match the newest of them for as many
// reasons as there may be. It returns the uids of the webhook and of that delivery.
func FillWebhook(t *testing.T, s *store.Store, factory string, many int) (webhook, newest string) {
	t.Helper()
	webhook, _ = s.NewID()
	var log []store.NewDelivery
	for i := range many {
		one := lineshaft.Delivery{
			WebhookUID: webhook, Status: lineshaft.DeliveryAccepted, IdentitySource: "header",
			Identity: fmt.Sprint(i, hostile(200)), Event: hostile(100),
		}
		one.ID, one.ReceivedAt = s.NewID()
		for range lineshaft.MaxRunsPerDelivery {
			one.Outcomes = append(one.Outcomes, lineshaft.DeliveryOutcome{
				AutomationID: webhook, AutomationName: hostile(lineshaft.MaxPartName),
				Result: lineshaft.ResultSkipped, Reason: hostile(500),
			})
		}
		log, newest = append(log, store.NewDelivery{Delivery: one}), one.ID
	}
	log[many-1].Body = fmt.Appendf(nil, `{"field":%q}`, hostile(lineshaft.MaxWebhookBytes-100))
	err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		at := s.Now()
		errs := []error{tx.PutWebhook(ctx, store.Webhook{Webhook: lineshaft.Webhook{
			UID: webhook, FactoryUID: factory, Name: "hook", AuthMode: lineshaft.AuthToken, Enabled: true, CreatedAt: at, UpdatedAt: at,
		}}), tx.InsertDeliveries(ctx, log)}
		for i := range 20 {
			uid, _ := s.NewID()
			errs = append(errs, tx.PutAutomation(ctx, lineshaft.Automation{
				UID: uid, FactoryUID: factory, Name: fmt.Sprintf("strict %03d", i), Enabled: true, Prompt: "p",
				Triggers: strictTriggers("hook"), CreatedAt: at, UpdatedAt: at,
			}))
		}
		return errors.Join(errs...)
	})
	if err != nil {
		t.Fatal(err)
	}
	return webhook, newest
}

// strictTriggers are as many triggers as an automation may have, with as many conditions as
// a filter may have.
func strictTriggers(webhook string) []lineshaft.Trigger {
	payload := map[string][]string{}
	for i := range 64 {
		payload[fmt.Sprintf("field%d", i)] = []string{hostile(300)}
	}
	text, _ := json.Marshal(payload) // texts always can be
	triggers := make([]lineshaft.Trigger, lineshaft.MaxTriggers)
	for i := range triggers {
		triggers[i] = lineshaft.Trigger{Provider: lineshaft.ProviderWebhook, Event: "received"}
		triggers[i].Filter = lineshaft.TriggerFilter{Webhooks: []string{webhook}, Payload: text}
	}
	return triggers
}

// FillRun gives a run a log of so many messages that are so long, a long status and as many artifacts as
// a run may have.
func FillRun(t *testing.T, s *store.Store, runID string, many, length int) {
	t.Helper()
	err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		h, err := tx.LockRun(ctx, runID)
		if err != nil {
			return err
		}
		h.Status.Message = hostile(64 << 10)
		said := fmt.Appendf(nil, `{"role":"assistant","text":%q}`, hostile(length)) // as a worker may write it
		events := make([]lineshaft.Draft, many)
		for i := range events {
			events[i] = lineshaft.Draft{Type: lineshaft.EventMessage, Time: time.Now(), Data: said}
		}
		var errs []error
		for i := range lineshaft.MaxRunArtifacts {
			uid, _ := s.NewID()
			errs = append(errs, tx.InsertArtifact(ctx, h, lineshaft.Artifact{
				UID: uid, Type: lineshaft.ArtifactReference, FileName: hostile(255),
				URL: fmt.Sprintf("https://example.com/%d?%s", i, hostile(lineshaft.MaxAddressBytes-40)),
			}))
		}
		return errors.Join(append(errs, tx.SaveRun(ctx, h, events...))...)
	})
	if err != nil {
		t.Fatal(err)
	}
}
