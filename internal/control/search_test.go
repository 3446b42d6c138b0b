package control_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	controlfactories "github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/notify"
	"github.com/lineshaft/lineshaft/internal/control/overview"
)

// search says what a search finds, each as its kind and what identifies it.
func (b *bench) search(c lineshaft.Caller, text string) string {
	b.Helper()
	found := must[overview.Found](b)(b.s.Search(b.Context(), c, text))
	var out []string
	for _, run := range found.Runs {
		out = append(out, "run "+run.Title)
	}
	for _, d := range found.Deliveries {
		out = append(out, "delivery "+d.FactoryUID+"/"+d.WebhookUID+"/"+d.ID)
	}
	for _, f := range found.Factories {
		out = append(out, "factory "+f.Name)
	}
	for kind, named := range map[string][]overview.FoundNamed{"agent": found.Agents, "automation": found.Automations, "webhook": found.Webhooks, "notification": found.Notifications} {
		for _, n := range named {
			out = append(out, kind+" "+n.FactoryUID+"/"+n.Name)
		}
	}
	for _, run := range found.Titles {
		out = append(out, "words "+run.Title)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func TestI2SearchByIDAndWords(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.at(time.UnixMilli(30_000_000 << 16)) // ids of the minute that begins now begin with the same 8 characters
		runID := b.start(lineshaft.NewRun{Title: "Paint the shed"}).RunID
		b.start(lineshaft.NewRun{Title: "Paint the fence"})
		must[bool](b)(b.s.SettleRuns(b.Context()))
		for text, want := range map[string]string{
			runID:                                  "run Paint the shed",
			"\t" + strings.ToUpper(runID):          "run Paint the shed",
			runID[:30]:                             "run Paint the shed",
			runID[:18]:                             "run Paint the shed",
			runID[:8]:                              "run Paint the fence, run Paint the shed",
			runID[:7]:                              "",
			runID[:18] + "-0x":                     "",
			"01890000":                             "",
			"fence":                                "words Paint the fence",
			"PAI shed":                             "words Paint the shed",
			"paint":                                "words Paint the fence, words Paint the shed",
			"paint nothing":                        "",
			"":                                     "",
			"  ":                                   "",
			"\x00":                                 "",
			"“…”":                                  "",
			"' OR 1=1 --":                          "",
			strings.Repeat("paint ", 400):          "",
			"01890000-0000-7000-8000-000000000000": "",
		} {
			if got := b.search(b.admin, text); got != want {
				b.Errorf("%q finds %q, want %q", text, got, want)
			}
		}
		// A run's own token sees its run and what is below it, and no factories.
		token := lineshaft.Caller{Role: lineshaft.RoleRun, RunID: runID}
		if got, want := b.search(token, "paint"), "words Paint the shed"; got != want {
			b.Errorf("a run's token finds %q, want %q", got, want)
		}
		if got := b.search(b.caller(lineshaft.RoleViewer, "another"), runID); got != "" {
			b.Errorf("a key of another factory finds %q", got)
		}
	})
}

// All delivered runs have the words of the note about their delivery: a search for them would find
// every one.
func TestI2SearchLeavesTheNoteOut(t *testing.T) {
	t.Parallel()
	eachWorks(t, controlfactories.NewWebhook{}, func(w *works) {
		w.automation("triage", "", func(n *lineshaft.Automation) { n.Prompt = "Look closely" })
		d := w.deliver("1", `{"a":1}`)
		for _, state := range []string{"new", "settled"} {
			for text, want := range map[string]string{"closely": "words triage", "look triage": "words triage", "untrusted": "", "webhook delivery": ""} {
				if got := w.search(w.admin, text); got != want {
					w.Errorf("%s: %q finds %q, want %q", state, text, got, want)
				}
			}
			must[bool](w.bench)(w.s.SettleRuns(w.Context()))
		}
		// A prompt that begins as such a note, or goes on below one, is found by the rest of it.
		w.bench.start(lineshaft.NewRun{Title: "copied", Prompt: w.run(d.Outcomes[0].RunID).Prompt + "\nAnd now paint it"})
		if got, want := w.search(w.admin, "paint"), "words copied"; got != want {
			w.Errorf("what is below the note: %q, want %q", got, want)
		}
	})
}

func TestI2SearchByDeliveryAndName(t *testing.T) {
	t.Parallel()
	eachWorks(t, controlfactories.NewWebhook{}, func(w *works) {
		w.automation("triage", "")
		delivery := w.deliver("1", `{"a":1}`)
		other := w.bench.factory("Other works", "other")
		w.automate(other.UID, "triage", w.listener(other.UID, "issues"))
		at := fmt.Sprintf("delivery %s/%s/%s", w.factory, w.hook.UID, delivery.ID)
		both := func(kind, name string) string {
			list := []string{kind + " " + w.factory + "/" + name, kind + " " + other.UID + "/" + name}
			slices.Sort(list)
			return strings.Join(list, ", ")
		}
		for name, factories := range map[string][]string{"to everybody": nil, "to the works": {w.factory}} {
			must[notify.IssuedNotification](w.bench)(w.s.CreateNotification(w.Context(), w.admin, notify.NewNotification{Name: name, URL: "https://example.com/", FactoryUIDs: factories}))
		}
		limited := w.caller(lineshaft.RoleViewer, w.factory)
		search := func(c lineshaft.Caller, text string) string { // without the run, whose prompt has some of these words
			found := strings.Split(w.search(c, text), ", ")
			return strings.Join(slices.DeleteFunc(found, func(one string) bool { return one == "words triage" }), ", ")
		}
		for text, want := range map[string][2]string{
			delivery.ID: {at, at},
			"works":     {"factory Other works, factory works, notification /to the works", "factory works, notification /to the works"},
			"OTHER":     {"factory Other works", ""},
			"issues":    {both("webhook", "issues"), "webhook " + w.factory + "/issues"},
			"triage":    {both("automation", "triage"), "automation " + w.factory + "/triage"},
			"foreman":   {both("agent", "foreman"), "agent " + w.factory + "/foreman"},
			"riag":      {both("automation", "triage"), "automation " + w.factory + "/triage"},
			"zriage":    {"", ""},
			// A key of one factory sees an endpoint when all its factories are its own.
			"to everybody": {"notification /to everybody", ""},
			"to the works": {"notification /to the works", "notification /to the works"},
			w.hook.UID:     {"", ""},
			" triage \n":   {both("automation", "triage"), "automation " + w.factory + "/triage"},
		} {
			if got := search(w.admin, text); got != want[0] {
				w.Errorf("%q finds %q, want %q", text, got, want[0])
			}
			if got := search(limited, text); got != want[1] {
				w.Errorf("%q finds %q for a key of one factory, want %q", text, got, want[1])
			}
		}
		if got := search(w.caller(lineshaft.RoleViewer, other.UID), delivery.ID); got != "" {
			w.Errorf("a key of another factory finds %q", got)
		}
		// The log of a deleted webhook is kept, and found; its name is not.
		if err := w.s.DeleteWebhook(w.Context(), w.admin, w.factory, w.hook.UID); err != nil {
			w.Fatal(err)
		}
		if got := search(limited, delivery.ID); got != at {
			w.Errorf("of a deleted webhook: %q", got)
		}
		if got := search(limited, "issues"); got != "" {
			w.Errorf("a deleted webhook is found: %q", got)
		}
	})
}
