package web

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/id"
)

// funcs are what all templates may call.
func funcs(list assets) template.FuncMap {
	return template.FuncMap{
		"asset":     list.address,
		"icon":      icon,
		"once":      func() string { return id.Secret(16) },
		"clock":     clock,
		"ago":       func(t time.Time) template.HTML { return ago(t, time.Now()) },
		"until":     func(t time.Time) template.HTML { return ago(t, time.Now()) },
		"took":      took,
		"days":      days,
		"count":     count,
		"bytes":     bytesText,
		"dollars":   dollars,
		"lower":     func(v any) string { return strings.ToLower(fmt.Sprint(v)) },
		"state":     stateName,
		"source":    sourceName,
		"hookkind":  hookKindName,
		"cronwords": timingWords,
		"dict":      dict,
		"join":      strings.Join,
		"list":      func(texts ...string) []string { return texts },

		"bytesof":    func(n int) string { return bytesText(int64(n)) },
		"webaddress": webAddress,
		"guide":      hookGuide,
		"kindwords":  kindWords,
		"operator":   checkWords,
		"overlaps":   overlaps,
		"verifiers":  verifiers,
		"hello":      helloCommand,
		"checkkind": func(state string) string {
			return map[string]string{"ok": "good", "warning": "warn", "problem": "bad"}[state]
		},
	}
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000") }

// ago tells a time as people do, before or after now; the exact time is in its
// title, and the page's script keeps it current.
func ago(t, now time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s UTC" data-ago>%s</time>`, //nolint:gosec // digits and fixed words only
		t.UTC().Format(time.RFC3339), t.UTC().Format("2006-01-02 15:04:05"), agoText(t, now)))
}

func agoText(t, now time.Time) string {
	d := now.Sub(t)
	form := "%s ago"
	if d < 0 {
		d, form = nearly(-d), "in %s"
	}
	switch {
	case d < 5*time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf(form, fmt.Sprintf("%d s", int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf(form, fmt.Sprintf("%d min", int(d.Minutes())))
	case d < 48*time.Hour:
		return fmt.Sprintf(form, fmt.Sprintf("%d h", int(d.Hours())))
	}
	return fmt.Sprintf(form, fmt.Sprintf("%d days", int(d.Hours()/24)))
}

// nearly rounds what is to come: a key of 90 days that was made a minute ago ends in 90 days.
func nearly(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute} {
		if d >= 2*unit || unit < 24*time.Hour && d >= unit {
			return d.Round(unit)
		}
	}
	return d
}

// took tells a duration with two digits that matter.
func took(d time.Duration) string {
	switch {
	case d <= 0:
		return "–"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
}

// days tells a long time in the largest unit that fits it.
func days(d time.Duration) string {
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}} {
		if d < unit.size || d%unit.size != 0 {
			continue
		}
		if d == unit.size {
			return "1 " + unit.name
		}
		return fmt.Sprintf("%d %ss", d/unit.size, unit.name)
	}
	return d.String()
}

// count groups the digits of a number.
func count(n any) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "\u202f" + digits[i:]
	}
	return digits
}

func bytesText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// dollars tells a cost that is kept in millionths.
func dollars(micros int64) string {
	if micros < 10_000 && micros > 0 {
		return fmt.Sprintf("$%.4f", float64(micros)/1e6)
	}
	return fmt.Sprintf("$%.2f", float64(micros)/1e6)
}

// stateName is how people read a state.
func stateName(state lineshaft.RunState) string {
	if state == lineshaft.InProgress {
		return "In progress"
	}
	text := string(state)
	if text == "" {
		return ""
	}
	return text[:1] + strings.ToLower(text[1:])
}

// sourceNames are how people read the sources of this server's own runs; those of the
// published service are read from their word.
var sourceNames = map[lineshaft.Source]string{
	lineshaft.SourceAPI: "API", lineshaft.SourceCLI: "CLI", lineshaft.SourceMCP: "MCP", lineshaft.SourceLocal: "Local",
	lineshaft.SourceWebApp: "Dashboard", lineshaft.SourceOrchestration: "Agent", lineshaft.SourceSchedule: "Schedule",
	lineshaft.SourceWebhook: "Webhook", lineshaft.SourceGitHub: "GitHub", lineshaft.SourceGitLab: "GitLab",
	lineshaft.SourceLinear: "Linear", lineshaft.SourceSlack: "Slack", lineshaft.SourceJira: "Jira",
}

// sourceName is how people read where a run came from.
func sourceName(source lineshaft.Source) string {
	if name, ok := sourceNames[source]; ok {
		return name
	}
	text := strings.ReplaceAll(strings.ToLower(string(source)), "_", " ")
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// dict hands several values to a part.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict wants pairs, got %d values", len(pairs))
	}
	values := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict wants a name at %d", i)
		}
		values[name] = pairs[i+1]
	}
	return values, nil
}
