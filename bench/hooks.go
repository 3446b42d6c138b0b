package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/ingress"
	"github.com/lineshaft/lineshaft/internal/signature"
)

const (
	// ingressHooks is how many webhooks deliveries are spread over, in factories of
	// ingressPerFactory.
	ingressHooks      = 64
	ingressPerFactory = 16
)

// hookPlan is what the webhooks of a measurement are like.
type hookPlan struct {
	hooks int
	// scheme signs deliveries; empty for bearer tokens.
	scheme string
	// filter is that of the one automation that each webhook has.
	filter string
	// history is how many deliveries there are already.
	history int
}

// The filters of an automation, for the bodies of payload.go.
const (
	filterMisses  = `{"action":["closed","reopened"],"repository":{"full_name":["acme/other"]}}`
	filterMatches = `{"action":["opened","reopened"],"repository":{"full_name":["acme/orchard"]}}`
)

// hooked is a database with webhooks in it.
type hooked struct {
	db      *database
	dataDir string
	targets []hitTarget
	history int
}

// makeHooks makes a database with webhooks, their automations and their past.
func (s *session) makeHooks(ctx context.Context, engine, name string, plan hookPlan) (h *hooked, err error) {
	s.progress.stepf("%s: make webhooks", engine)
	db, err := s.newDatabase(ctx, engine, name)
	if err != nil {
		return nil, err
	}
	h = &hooked{db: db, dataDir: filepath.Join(s.dir, name+"-"+engine), history: plan.history}
	cfg := config.Default()
	cfg.Listen, cfg.Database, cfg.DataDir, cfg.NoWorker = "127.0.0.1:0", db.url, h.dataDir, true
	server, err := app.Start(ctx, cfg, app.Options{Version: "bench", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("make webhooks: %w", err)
	}
	err = h.create(ctx, server.Control(), plan)
	if err := errors.Join(err, server.Stop(context.WithoutCancel(ctx))); err != nil {
		return nil, fmt.Errorf("make webhooks: %w", err)
	}
	s.progress.stepf("%s: fill with %s deliveries", engine, thousands(int64(plan.history)))
	if err := db.with(ctx, h.fill); err != nil {
		return nil, fmt.Errorf("fill with deliveries: %w", err)
	}
	return h, nil
}

func (h *hooked) create(ctx context.Context, c *control.Service, plan hookPlan) error {
	boss := lineshaft.Caller{Principal: lineshaft.Principal{UID: "user_bench", Type: lineshaft.User}, Role: lineshaft.RoleAdmin}
	var factory *lineshaft.Factory
	for i := range plan.hooks {
		var err error
		if i%ingressPerFactory == 0 {
			if factory, err = c.CreateFactory(ctx, boss, factories.NewFactory{Name: fmt.Sprintf("factory-%d", i/ingressPerFactory)}); err != nil {
				return err
			}
		}
		target, err := createHook(ctx, c, boss, factory.UID, webhookName(i), plan)
		if err != nil {
			return err
		}
		h.targets = append(h.targets, target)
	}
	return nil
}

// createHook makes a webhook with its automation and says how to send to it.
func createHook(ctx context.Context, c *control.Service, boss lineshaft.Caller, factory, name string, plan hookPlan) (hitTarget, error) {
	unlimited := 0
	wanted := factories.NewWebhook{Name: name, RateLimit: &unlimited}
	if plan.scheme != "" {
		secret := signature.Generate("standard_webhooks") // long enough for all of them
		wanted.AuthMode, wanted.SignatureScheme, wanted.Secret = lineshaft.AuthSignature, plan.scheme, &secret
	}
	made, err := c.CreateWebhook(ctx, boss, factory, wanted)
	if err != nil {
		return hitTarget{}, err
	}
	_, err = c.CreateAutomation(ctx, boss, factory, lineshaft.Automation{
		Name: name, Prompt: "Look at the issue and say in one sentence what it is about.", Enabled: true,
		Triggers: []lineshaft.Trigger{{Provider: lineshaft.ProviderWebhook, Event: lineshaft.EventReceived, Filter: lineshaft.TriggerFilter{
			WebhookIDs: []string{made.UID}, Payload: json.RawMessage(plan.filter),
		}}},
	})
	if err != nil {
		return hitTarget{}, err
	}
	path := ingress.Prefix + made.UID
	if plan.scheme != "" {
		return hitTarget{Path: path, Scheme: plan.scheme, Secret: *wanted.Secret}, nil
	}
	return bearerTarget(path, made.Secret), nil
}

// fill writes deliveries that came before, as the anchors have them.
func (h *hooked) fill(ctx context.Context, db *sql.DB) error {
	if h.db.engine == sqlite {
		for _, statement := range []string{"PRAGMA synchronous = OFF", "PRAGMA cache_size = -262144"} {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
	}
	past := newPast()
	for _, table := range []struct {
		into    string
		columns int
		row     func(i int) []any
	}{
		{"deliveries (id, webhook_uid, status, size, identity, identity_source, remote_addr, duplicate_of, redelivery_of, not_matched, outcomes)", 11, func(i int) []any {
			hook := filepath.Base(h.targets[i%len(h.targets)].Path)
			return []any{past.id(i), hook, "accepted", 2, past.identity(i), "header X-Service-Delivery-Id", "127.0.0.1", "", "", 1, "[]"}
		}},
		{"delivery_payloads (delivery_id, body)", 2, func(i int) []any { return []any{past.id(i), []byte("{}")} }},
		{"delivery_identities (digest, delivery_id)", 2, func(i int) []any { return []any{past.digest(i), past.id(i)} }},
	} {
		if err := insertMany(ctx, db, h.db.engine, table.into, table.columns, h.history, table.row); err != nil {
			return fmt.Errorf("%s: %w", table.into, err)
		}
	}
	after := map[string][]string{sqlite: {"PRAGMA wal_checkpoint(TRUNCATE)"}, postgres: {"VACUUM ANALYZE", "CHECKPOINT"}}
	for _, statement := range after[h.db.engine] {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// check compares the log with the answers: each 202 has its delivery, and there are
// no others; the same for the runs.
func (h *hooked) check(ctx context.Context, accepted, runs int) error {
	logged, err := h.db.number(ctx, "SELECT COUNT(*) FROM deliveries WHERE status = 'accepted'")
	if err != nil {
		return err
	}
	bodies, err := h.db.number(ctx, "SELECT COUNT(*) FROM delivery_payloads")
	if err != nil {
		return err
	}
	started, err := h.db.number(ctx, "SELECT COUNT(*) FROM runs WHERE state = 'QUEUED'")
	if err != nil {
		return err
	}
	if want := int64(accepted + h.history); logged != want || bodies != want || started != int64(runs) {
		return fmt.Errorf("%d deliveries were answered with 202 after %d, but %d are in the log with %d bodies and %d of %d runs", accepted, h.history, logged, bodies, started, runs)
	}
	return nil
}
