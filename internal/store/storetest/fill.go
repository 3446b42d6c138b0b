package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// FillFactory stores a factory with so many agents, automations and schedules of texts that
// are so long, and six times as long in JSON, past what would take its time to check them.
func FillFactory(t *testing.T, s *store.Store, factory string, many, length int) {
	t.Helper()
	text := strings.Repeat("\x01", length)
	err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		at, config := s.Now(), lineshaft.AgentConfig{BasePrompt: text}
		who := lineshaft.Principal{UID: "u", Type: lineshaft.User}
		errs := []error{
			tx.InsertFactory(ctx, lineshaft.Factory{UID: factory, Name: factory, Mode: lineshaft.ModeManaged, CreatedAt: at, UpdatedAt: at}),
			tx.PutPrincipal(ctx, who, at),
		}
		for i := range many {
			uid, name := fmt.Sprint(factory, "-", i), fmt.Sprintf("part %03d", i)
			errs = append(errs,
				tx.PutAgent(ctx, lineshaft.Agent{
					UID: uid, FactoryUID: factory, Name: name, Type: lineshaft.AgentCustom,
					Description: strings.Repeat("\x01", lineshaft.MaxDescriptionRunes), Prompt: text, Config: config,
					CreatedAt: at, UpdatedAt: at,
				}),
				tx.PutAutomation(ctx, lineshaft.Automation{UID: uid, FactoryUID: factory, Name: name, Prompt: text, Config: config, CreatedAt: at, UpdatedAt: at}),
				tx.PutTimer(ctx, store.Timer{Owner: store.ScheduleTimer(uid)}),
				tx.PutSchedule(ctx, lineshaft.Schedule{
					ID: uid, Name: name, Timing: lineshaft.Timing{Cron: "@daily"}, Prompt: text, Config: config, Creator: who, Editor: who, CreatedAt: at, UpdatedAt: at,
				}))
		}
		return errors.Join(errs...)
	})
	if err != nil {
		t.Fatal(err)
	}
}
