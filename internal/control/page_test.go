package control_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

// Published clients read environments and schedules as one list, so there are no more than
// fit into an answer. Existing ones can still be changed and made smaller.
func TestH14SetUpHasLimits(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		ctx := b.Context()
		commands := make([]string, lineshaft.MaxSetupCommands)
		for i := range commands {
			commands[i] = strings.Repeat("é", lineshaft.MaxSetupCommandRunes)
		}
		var last *lineshaft.EnvironmentDetail
		var err error
		for i := 0; err == nil && i < 20; i++ {
			var made *lineshaft.EnvironmentDetail
			if made, err = b.s.CreateEnvironment(ctx, b.admin, lineshaft.EnvironmentConfig{Name: fmt.Sprint(i), SetupCommands: commands}); err == nil {
				last = made
			}
		}
		wantCode(b, err, lineshaft.CodeConflict)
		last.Config.SetupCommands = commands[:1]
		must[*lineshaft.EnvironmentDetail](b)(b.s.UpdateEnvironment(ctx, b.admin, last.UID, last.Config))

		n := trigger.NewSchedule{Name: "n", Timing: lineshaft.Timing{Cron: "@daily"}, Prompt: "p"}
		var id string
		for range lineshaft.MaxSchedules {
			id = must[*lineshaft.Schedule](b)(b.s.CreateSchedule(ctx, b.admin, n)).ID
		}
		_, err = b.s.CreateSchedule(ctx, b.admin, n)
		wantCode(b, err, lineshaft.CodeConflict)
		must[*lineshaft.Schedule](b)(b.s.UpdateSchedule(ctx, b.admin, id, n))
		if page := must[base.Page[lineshaft.Schedule]](b)(b.s.ListSchedules(ctx, b.admin, "", base.MaxPage, "")); len(page.Items) != lineshaft.MaxSchedules || page.Next != "" {
			b.Errorf("%d schedules, more %v", len(page.Items), page.Next != "")
		}
	})
}
