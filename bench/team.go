package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/notify"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

// How much a team has of each.
const (
	teamFactories    = 20
	teamAgents       = 60
	teamAutomations  = 100
	teamWebhooks     = 60
	teamSchedules    = 50
	teamEnvironments = 30
	teamSecrets      = 40
	teamKeys         = 50
	teamCallbacks    = 20
	// teamLeast is for debugging.
	teamLeast = 6
)

// team is what people have configured, as far as pages are asked for it.
type team struct {
	factories []string
	// webhooks has one of each factory and more; the first has the deliveries.
	webhooks []string
	// automation listens to the first webhook, in the first factory.
	automation, agent, environment string
	// limited is a key that sees the first factory alone.
	limited string
}

// newTeam makes a team; count says how much of each it has.
func newTeam(ctx context.Context, c *control.Service, count func(n, least int) int) (t team, err error) {
	boss := lineshaft.Caller{Principal: lineshaft.Principal{UID: "user_bench", Type: lineshaft.User}, Role: lineshaft.RoleAdmin}
	for _, part := range []struct {
		what string
		n    int
		make func(i int) error
	}{
		{"factory", teamFactories, func(i int) error {
			made, err := c.CreateFactory(ctx, boss, factories.NewFactory{Name: fmt.Sprintf("factory-%02d", i)})
			if err == nil {
				t.factories = append(t.factories, made.UID)
			}
			return err
		}},
		{"secret", teamSecrets, func(i int) error {
			_, err := c.CreateSecret(ctx, boss, lineshaft.Secret{Name: fmt.Sprintf("SECRET_%02d", i)}, "value of the benchmark")
			return err
		}},
		{"environment", teamEnvironments, func(i int) error {
			made, err := c.CreateEnvironment(ctx, boss, lineshaft.EnvironmentConfig{Name: fmt.Sprintf("environment-%02d", i), Secrets: []string{"SECRET_01"}})
			if err == nil {
				t.environment = made.UID
			}
			return err
		}},
		{"agent", teamAgents, func(i int) error {
			made, err := c.CreateAgent(ctx, boss, lineshaft.Agent{FactoryUID: t.factories[i%len(t.factories)], Name: fmt.Sprintf("agent-%02d", i), Prompt: "Be brief."})
			if err == nil {
				t.agent = made.UID
			}
			return err
		}},
		{"webhook", teamWebhooks, func(i int) error {
			made, err := c.CreateWebhook(ctx, boss, t.factories[i%len(t.factories)], factories.NewWebhook{Name: webhookName(i)})
			t.webhooks = append(t.webhooks, made.UID)
			return err
		}},
		{"automation", teamAutomations, func(i int) error {
			made, err := c.CreateAutomation(ctx, boss, t.factories[i%len(t.factories)], t.newAutomation(i))
			if err == nil && i == 0 {
				t.automation = made.UID
			}
			return err
		}},
		{"schedule", teamSchedules, func(i int) error {
			_, err := c.CreateSchedule(ctx, boss, trigger.NewSchedule{
				Name: fmt.Sprintf("schedule-%02d", i), Timing: lineshaft.Timing{Cron: "0 9 1 1 *"}, Enabled: true, Prompt: "Look.", AgentUID: t.agent,
			})
			return err
		}},
		{"key", teamKeys, func(i int) error {
			_, key, err := c.CreateAPIKey(ctx, boss, access.NewAPIKey{Name: fmt.Sprintf("key-%02d", i), Role: lineshaft.RoleManager, FactoryUIDs: t.factories[:1]})
			t.limited = key
			return err
		}},
		{"notification", teamCallbacks, func(i int) error {
			off := false // so that nothing is sent
			_, err := c.CreateNotification(ctx, boss, notify.NewNotification{
				Name: fmt.Sprintf("callback-%02d", i), URL: "https://example.com/hook", Enabled: &off,
			})
			return err
		}},
	} {
		for i := range count(part.n, teamLeast) {
			if err := part.make(i); err != nil {
				return t, fmt.Errorf("%s %d: %w", part.what, i, err)
			}
		}
	}
	return t, nil
}

func (t *team) newAutomation(i int) lineshaft.Automation {
	hooks := []string{t.webhooks[i%len(t.factories)]} // of the same factory
	filter := lineshaft.TriggerFilter{WebhookIDs: hooks, Payload: json.RawMessage(filterMatches)}
	return lineshaft.Automation{
		Name: fmt.Sprintf("automation-%02d", i), Prompt: "Look at the issue and say in one sentence what it is about.", Enabled: true,
		Triggers: []lineshaft.Trigger{{Provider: lineshaft.ProviderWebhook, Event: lineshaft.EventReceived, Filter: filter}},
	}
}
