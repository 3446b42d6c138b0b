package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/cron"
)

// maxFires bounds what `schedule next` prints.
const maxFires = 1000

// fire is one time at which an expression fires.
type fire struct {
	Slot  string    `json:"slot"`
	Local string    `json:"local"`
	At    time.Time `json:"at"`
}

func (sh *shell) scheduleNextCommand() *cobra.Command {
	var zone, from string
	var number int
	cmd := &cobra.Command{
		Use:   "next CRON",
		Short: "Show when a cron expression fires next, without a server",
		Long: "Show when a cron expression fires next. A slot is named by the wall clock of the time zone; where clocks\n" +
			"are changed, a time that is skipped is made up once, and one that comes twice fires once, unless the\n" +
			"expression fires in every hour. \"@every\" counts from now.",
		Args: needs(1, 1, `a cron expression in quotes, such as "0 9 * * 1-5"`),
		Example: example(
			`lineshaft schedule next "0 9 * * 1-5" --timezone Europe/Berlin`, "the next five times",
			`lineshaft schedule next "30 2 * * *" --timezone America/New_York --from 2026-03-07 --count 3`, "over the night without 2:30",
		),
		RunE: func(_ *cobra.Command, args []string) error {
			if number < 1 || number > maxFires {
				return usage(fmt.Sprintf("--count %d is not between 1 and %d", number, maxFires), "Five are shown without it.")
			}
			after := sh.now()
			if from != "" {
				var err error
				if after, err = parseTime("from", from, sh.now(), true); err != nil {
					return err
				}
			}
			fires, err := firesOf(lineshaft.Timing{Cron: args[0], Timezone: zone}, after, number)
			if err != nil {
				return err
			}
			return sh.showFires(fires)
		},
	}
	cmd.Flags().StringVar(&zone, "timezone", "", "IANA `NAME` of the time zone (default UTC)")
	cmd.Flags().StringVar(&from, "from", "", "`TIME` to begin after: a date, a time, or how long from now (default now)")
	cmd.Flags().IntVar(&number, "count", 5, "`NUMBER` of times to show")
	return cmd
}

func firesOf(timing lineshaft.Timing, after time.Time, number int) ([]fire, error) {
	parsed, err := cron.Parse(timing)
	if err != nil {
		public, ok := errors.AsType[*lineshaft.Error](err)
		if !ok {
			return nil, err
		}
		what := "the cron expression"
		if public.Field == "timezone" {
			what = "--timezone"
		}
		return nil, usage(what+": "+public.Message, "docs/schedules.md tells what an expression may say.")
	}
	parsed = parsed.Anchored(after)
	fires := []fire{}
	for slot, ok := parsed.Next(after); ok && len(fires) < number; slot, ok = parsed.Next(slot.At) {
		fires = append(fires, fire{Slot: slot.Name, Local: slot.At.Format("Mon 2006-01-02 15:04 MST"), At: slot.At.UTC()})
	}
	return fires, nil
}

func (sh *shell) showFires(fires []fire) error {
	if !sh.forPeople() {
		return documents(sh, map[string]any{"fires": fires}, fires)
	}
	var rows [][]cell
	for _, f := range fires {
		rows = append(rows, []cell{plain(f.Local), plain(f.At.Format(time.RFC3339)), plain(f.Slot)})
	}
	sh.table([]string{"LOCAL", "UTC", "SLOT"}, rows)
	return nil
}
