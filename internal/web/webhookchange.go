package web

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// issued is a webhook with the secret that was made or given just now.
type issued struct {
	factories.IssuedWebhook

	Factory *lineshaft.Factory
	// Given is what people brought; it decides how to sign and is not shown.
	Given *string
	New   bool
	// After is the newest delivery of before, which is not the one that is waited for.
	After string
}

type issuedData struct {
	Hook   hookView
	New    bool
	Secret string
	// URL has the token in it, where there is one.
	URL    string
	Script string
	// Event is what the script sends, where senders name events.
	Event string
	Guide string
	Wait  waitData
}

// showIssued shows what the sender has to know. It is the answer to a POST, so that
// no address leads to it again.
func (s *server) showIssued(w http.ResponseWriter, r *http.Request, c lineshaft.Caller, made issued) error {
	v := s.hookView(made.Factory, made.Webhook)
	data := issuedData{Hook: v, New: made.New, Secret: made.Secret, URL: v.URL, Guide: hookGuide(v.Kind.Name)}
	plain := s.WebhookBaseURL + ingressPath + v.UID
	if made.Secret != "" && v.AuthMode == lineshaft.AuthURLToken {
		data.URL = plain + "/" + made.Secret
	}
	trial := webhookTrial{Webhook: made.Webhook, URL: plain, Secret: made.Secret, Told: made.Secret != ""}
	if made.Given != nil {
		trial.Secret = *made.Given
	}
	var err error
	if !v.NeedsSecret {
		if data.Script, err = trial.Script(); err != nil {
			return err
		}
	}
	data.Event = trial.Event()
	data.Wait = waitData{At: v.At, After: made.After}
	title := "Webhook created"
	if !made.New {
		title = "New secret"
	}
	w.Header().Set("Referrer-Policy", "no-referrer")
	return s.render(w, r, c, "webhookdone", page{Title: title, Section: "webhooks", Crumbs: v.within(), Data: data})
}

// switchWebhook switches a webhook on or off.
func (s *server) switchWebhook(on bool) handler {
	said := "Disabled. Senders get 404 from now on."
	if on {
		said = "Enabled. It takes deliveries again."
	}
	return func(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
		v, err := s.findHook(r, c)
		if err != nil {
			return err
		}
		if _, err := s.Control.UpdateWebhook(r.Context(), c, v.Factory.UID, v.UID, factories.WebhookChange{Enabled: &on}); err != nil {
			return err
		}
		return s.done(w, r, v.At, said)
	}
}

type rotateData struct {
	Hook hookView
	From string
	// Overlap is in seconds.
	Overlap string
}

// overlap is how long an old secret may go on.
type overlap struct{ Seconds, Text string }

func overlaps() []overlap {
	return []overlap{
		{"0", "Ends at once"}, {"3600", "Works for one more hour"}, {"86400", "Works for one more day"}, {"259200", "Works for three more days"},
	}
}

func rotateView(v hookView, from, overlap string) page {
	title := "Rotate secret"
	if v.NeedsSecret {
		title = "Finish set-up"
	}
	return page{
		Title: title, Section: "webhooks", Crumbs: v.within(),
		Data: rotateData{Hook: v, From: from, Overlap: overlap},
	}
}

// rotatePage asks for a new secret, or for the first one that a provider made.
func (s *server) rotatePage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	v, err := s.findHook(r, c)
	if err != nil {
		return err
	}
	from := "make"
	if v.Kind.Issued {
		from = "own"
	}
	return s.render(w, r, c, "webhookrotate", rotateView(v, from, "0"))
}

func (s *server) rotateWebhook(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	v, err := s.findHook(r, c)
	if err != nil {
		return err
	}
	from, overlap := r.PostFormValue("from"), cmp.Or(strings.TrimSpace(r.PostFormValue("overlap_seconds")), "0")
	again := func(err error) error {
		return s.renderAgain(w, r, c, "webhookrotate", rotateView(v, from, overlap), err)
	}
	var wanted factories.WebhookRotation
	seconds, err := strconv.Atoi(overlap)
	if err != nil || seconds < 0 || seconds > int(lineshaft.MaxOverlap/time.Second) {
		return again(lineshaft.Invalid("overlap_seconds", "write a whole number of seconds, at most %d", int(lineshaft.MaxOverlap/time.Second)))
	}
	wanted.Overlap = time.Duration(seconds) * time.Second
	if from == "own" {
		wanted.Secret = new(strings.TrimSpace(r.PostFormValue("secret")))
		if *wanted.Secret == "" {
			return again(lineshaft.Invalid("secret", "paste the secret"))
		}
	}
	after, err := s.newestDelivery(r, c, v)
	if err != nil {
		return err
	}
	made, err := s.Control.RotateWebhook(r.Context(), c, v.Factory.UID, v.UID, wanted)
	if err != nil {
		return again(err)
	}
	if made.Secret == "" && !v.NeedsSecret {
		return s.done(w, r, v.At, "The new secret is in force.")
	}
	return s.showIssued(w, r, c, issued{IssuedWebhook: made, Factory: v.Factory, Given: wanted.Secret, After: after})
}

type editHookData struct {
	Hook    hookView
	Options hookOptions
}

func (s *server) editWebhookPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	v, err := s.findHook(r, c)
	if err != nil {
		return err
	}
	return s.render(w, r, c, "webhookedit", editHookView(v, optionsOf(v.Webhook)))
}

func editHookView(v hookView, o hookOptions) page {
	return page{Title: "Settings of " + v.Name, Section: "webhooks", Crumbs: v.within(), Data: editHookData{Hook: v, Options: o}}
}

func (s *server) editWebhook(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	v, err := s.findHook(r, c)
	if err != nil {
		return err
	}
	options := readOptions(r)
	change, err := options.change(v.SignatureScheme)
	if err == nil {
		_, err = s.Control.UpdateWebhook(r.Context(), c, v.Factory.UID, v.UID, change)
	}
	if err != nil {
		return s.renderAgain(w, r, c, "webhookedit", editHookView(v, options), err)
	}
	return s.done(w, r, v.At, "Saved.")
}

// deleteWebhookPage names what a deletion does before it is done.
func (s *server) deleteWebhookPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	v, err := s.findHook(r, c)
	if err != nil {
		return err
	}
	listeners, err := s.Control.Listeners(r.Context(), c, v.Factory.UID, v.UID)
	if err != nil {
		return err
	}
	return s.render(w, r, c, "webhookdelete", page{
		Title: "Delete webhook", Section: "webhooks", Crumbs: v.within(), Data: webhookData{Hook: v, Listeners: listeners},
	})
}

func (s *server) deleteWebhook(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	v, err := s.findHook(r, c)
	if err != nil {
		return err
	}
	if err := s.Control.DeleteWebhook(r.Context(), c, v.Factory.UID, v.UID); err != nil {
		return err
	}
	return s.done(w, r, "/webhooks", "Webhook "+v.Name+" is deleted. Senders get 404 from now on.")
}
