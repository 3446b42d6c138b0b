package factories

import "testing"

func TestF6CronInWords(t *testing.T) {
	t.Parallel()
	for cron, want := range map[string]string{
		"0 9 * * 1-5": "Monday to Friday at 09:00", "0 9 * * mon-fri": "Monday to Friday at 09:00", "30 2 * * *": "Every day at 02:30",
		"0 0 * * 0": "Every Sunday at 00:00", "0 0 * * 7": "Every Sunday at 00:00", "5 6 * * 1,3": "Every Monday and Wednesday at 06:05",
		"0 8,20 * * *": "Every day at 08:00 and 20:00", "15 12 31 * *": "On day 31 of each month at 12:15",
		"* * * * *": "Every minute", "*/15 * * * *": "Every 15 minutes", "*/1 * * * *": "Every minute", "7 * * * *": "Every hour at minute 7",
		"@daily": "Every day at 00:00", "@Hourly": "Every hour", "@weekly": "Every Sunday at 00:00", "@monthly": "On day 1 of each month at 00:00",
		"@yearly": "Every 1 January at 00:00", "@every 6h": "Every 6 hours", "@every 1h": "Every hour", "@every 90m": "Every 90 minutes", "@every 48h": "Every 2 days",
		"@every 61s": "Every 61 seconds",
		// What it cannot say well it does not say.
		"*/7 * * * *": "", "0 9 1 * 1": "", "0 9 * 1 *": "", "0-5 9 * * *": "", "0 9-17 * * *": "", "0 1,2,3 * * *": "", "0 9 1,15 * *": "", "* * 1 * *": "",
		"0 9 * * 1-x": "", "0 9 * * 8": "", "61 * * * *": "", "0 24 * * *": "", "0 9 32 * *": "", "@every": "", "@every x": "", "@every -1h": "", "": "", "x": "",
	} {
		if got := cronWords(cron); got != want {
			t.Errorf("%q: %q, want %q", cron, got, want)
		}
	}
}
