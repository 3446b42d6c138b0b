package page

import (
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/id"
)

// funcs are what all templates may call.
func funcs(list assets) template.FuncMap {
	return template.FuncMap{
		"asset":   list.address,
		"icon":    icon,
		"usedin":  useAddress,
		"once":    func() string { return id.Secret(16) },
		"clock":   Clock,
		"moment":  moment,
		"ago":     func(t time.Time) template.HTML { return ago(t, time.Now()) },
		"until":   func(t time.Time) template.HTML { return ago(t, time.Now()) },
		"took":    Took,
		"plural":  Plural,
		"capital": Capital,
		"days":    days,
		"count":   Count,
		"bytes":   bytesText,
		"dollars": Dollars,
		"lower":   func(v any) string { return strings.ToLower(fmt.Sprint(v)) },
		"state":   StateName,
		"source":  SourceName,
		"dict":    dict,
		"paint":   Paint,
		"join":    strings.Join,
		"list":    func(texts ...string) []string { return texts },

		"bytesof":    func(n int) string { return bytesText(int64(n)) },
		"webaddress": webAddress,
		"hello":      helloCommand,
		"example":    examplePrompt,
	}
}

// Clock is a time to the millisecond.
func Clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000") }

// moment is a time to the second, which the page's script puts into the reader's zone.
func moment(t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s UTC" data-moment>%s UTC</time>`, // digits and fixed words only
		t.UTC().Format(time.RFC3339Nano), Clock(t), t.UTC().Format(time.DateTime)))
}

// ago shows a time as people say it, before or after now; the exact time is in its
// title, and the page's script keeps it current.
func ago(t, now time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s UTC" data-ago>%s</time>`, // digits and fixed words only
		t.UTC().Format(time.RFC3339), t.UTC().Format("2006-01-02 15:04:05"), AgoText(t, now)))
}

// AgoText shows a time as people say it, without marks.
func AgoText(t, now time.Time) string {
	d, form := now.Sub(t), "%s ago"
	if d < 0 {
		d, form = nearly(-d), "in %s"
	}
	if d < 5*time.Second {
		return "just now"
	}
	return fmt.Sprintf(form, Roughly(d))
}

// Roughly is a duration in its largest unit.
func Roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(int(d.Seconds()), 1))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
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

// Took shows a duration with two digits that matter.
func Took(d time.Duration) string {
	switch {
	case d <= 0:
		return "–"
	case d < time.Millisecond:
		return "< 1 ms"
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

// days shows a long time in the largest unit that fits it.
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

// Count groups the digits of a number.
func Count(n any) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func bytesText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return tenths(float64(n)/(1<<10)) + " KiB"
	}
	return tenths(float64(n)/(1<<20)) + " MiB"
}

// tenths is a number with one digit behind the point, if that says something.
func tenths(n float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0") }

// Dollars shows a cost that is kept in millionths.
func Dollars(micros int64) string {
	if micros < 10_000 && micros > 0 {
		return fmt.Sprintf("$%.4f", float64(micros)/1e6)
	}
	return fmt.Sprintf("$%.2f", float64(micros)/1e6)
}

// StateName is how people read a state.
func StateName(state lineshaft.RunState) string {
	if state == lineshaft.InProgress {
		return "In progress"
	}
	text := string(state)
	if text == "" {
		return ""
	}
	return text[:1] + strings.ToLower(text[1:])
}

// sourceNames are the words for the sources of this server's own runs; those of the
// published service are made from their identifiers.
var sourceNames = map[lineshaft.Source]string{
	lineshaft.SourceAPI: "API", lineshaft.SourceCLI: "CLI", lineshaft.SourceMCP: "MCP", lineshaft.SourceLocal: "Local",
	lineshaft.SourceWebApp: "Dashboard", lineshaft.SourceOrchestration: "Agent", lineshaft.SourceSchedule: "Schedule",
	lineshaft.SourceWebhook: "Webhook", lineshaft.SourceGitHub: "GitHub", lineshaft.SourceGitLab: "GitLab",
	lineshaft.SourceLinear: "Linear", lineshaft.SourceSlack: "Slack", lineshaft.SourceJira: "Jira",
}

// SourceName is how people read where a run came from.
func SourceName(source lineshaft.Source) string {
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

// webAddress says whether an address can be opened in a browser.
func webAddress(address string) bool {
	return strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://")
}

// Plural is a number with its noun.
func Plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + more
}

// Capital begins a text with a capital letter.
func Capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// RunCommand is a line to copy that starts a run on any server: without a model the
// shell agent runs its block, and with one an agent understands it as well.
func RunCommand(options, title, shell string) string {
	return "lineshaft run --follow " + options + "'" + title + "\n```sh\n" + shell + "\n```'"
}

// examplePrompt works on any server: a shell runs its block, and a model understands it.
func examplePrompt() string {
	return "Look around in the workspace and say what is there.\n\n```sh\necho \"Hello from $(uname -s)\"\npwd\nls -la\ndate\n```"
}

func helloCommand() string { return RunCommand("", "Say hello", "echo hello") }
