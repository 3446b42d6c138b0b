package ingress_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

// A forge's name for an event is kept with the delivery, if it can be a name.
func TestF6EventOfTheHeader(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		for scheme, header := range map[string]string{"github": "X-Github-Event", "gitlab": "X-Gitlab-Event", "stripe": "X-Github-Event"} {
			w, secret := g.signatureHook(scheme)
			for i, event := range []string{"issues", "Merge Request Hook", strings.Repeat("e", 100), strings.Repeat("e", 101), "a/b", "a\"b", "ümlaut", ""} {
				want := event
				if scheme == "stripe" || i >= 3 {
					want = ""
				}
				body := `{"n":` + string(rune('0'+i)) + `}`
				sent := g.signed(w, secret, body, "id-"+body, time.Now())
				sent.Set(header, event)
				g.wants(scheme, g.send(sending{path: path(w.UID), header: sent, body: body}), http.StatusAccepted)
				if d := g.newest(w.UID); d.Event != want {
					g.Errorf("%s: event %q is kept as %q", scheme, event, d.Event)
				}
			}
		}
	})
}

func TestF6ForgeTriggerEndToEnd(t *testing.T) {
	t.Parallel()
	each(t, func(g *gate) {
		w, secret := g.signatureHook("github")
		_, err := g.control.CreateAutomation(g.Context(), g.admin, g.factory, lineshaft.Automation{
			Name: "closed", Prompt: "p", Enabled: true, Triggers: []lineshaft.Trigger{{Provider: "github", Event: "issue_closed"}},
		})
		if err != nil {
			g.Fatal(err)
		}
		g.refresh()
		for i, tc := range []struct {
			event, action string
			runs          int
		}{{"issues", "closed", 1}, {"issues", "opened", 0}, {"pull_request", "closed", 0}, {"", "closed", 0}} {
			body := `{"action":"` + tc.action + `"}`
			sent := g.signed(w, secret, body, "id-"+string(rune('0'+i)), time.Now())
			sent.Set("X-Github-Event", tc.event)
			g.wants(tc.event, g.send(sending{path: path(w.UID), header: sent, body: body}), http.StatusAccepted)
			if d := g.newest(w.UID); len(d.Outcomes) != 1+tc.runs || d.NotMatched != 1-tc.runs { // one listens to all
				g.Errorf("%+v: %+v", tc, d)
			}
		}
	})
}
