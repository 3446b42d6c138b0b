package hooks

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// issued is a webhook with the secret that was made or given just now.
type issued struct {
	factories.IssuedWebhook

	Factory *lineshaft.Factory
	// Given is what people brought; it decides how to sign and is not shown.
	Given *string
	New   bool
	// Listens says that an automation was made with it.
	Listens bool
	// After is the newest earlier delivery: not the one that the page waits for.
	After string
}

type issuedData struct {
	Hook hookView
	New  bool
	// Listens says that an automation listens to it already.
	Listens bool
	Secret  string
	// URL has the token in it, where there is one.
	URL    string
	Script string
	// Event is what the script sends, where senders name events.
	Event string
	Guide string
	Wait  waitData
}

// showIssued shows what the sender must know. It is the answer to a POST, so that
// no address leads to it again.
func (s pages) showIssued(r *page.Request, made issued) error {
	v := s.hookView(made.Factory, made.Webhook)
	data := issuedData{Hook: v, New: made.New, Listens: made.Listens, Secret: made.Secret, URL: v.URL, Guide: hookGuide(v.Kind.Name)}
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
	r.W.Header().Set("Referrer-Policy", "no-referrer")
	return r.Render("webhookdone", v.page(title, v.within(), data))
}

// switchWebhook switches a webhook on or off.
func (s pages) switchWebhook(on bool, said string) func(*page.Request, hookView) error {
	return func(r *page.Request, v hookView) error {
		if _, err := s.Control.UpdateWebhook(r.Context(), r.Caller, v.Factory.UID, v.UID, factories.WebhookChange{Enabled: &on}); err != nil {
			return err
		}
		return r.Done(v.At, said)
	}
}

type rotateData struct {
	Hook hookView
	From string
	// Overlap is in seconds.
	Overlap string
}

// overlap is how long an old secret may stay valid.
type overlap struct{ Seconds, Text string }

func overlaps() []overlap {
	return []overlap{
		{"0", "Ends at once"}, {"3600", "Works for one more hour"}, {"86400", "Works for one more day"}, {"259200", "Works for three more days"},
	}
}

// readOverlap reads how long an old secret stays valid.
func readOverlap(text string) (time.Duration, error) {
	seconds, err := strconv.Atoi(text)
	if most := int(lineshaft.MaxOverlap / time.Second); err != nil || seconds < 0 || seconds > most {
		return 0, lineshaft.Invalid("overlap_seconds", "choose one of the offered times: a whole number of seconds, at most %d", most)
	}
	return time.Duration(seconds) * time.Second, nil
}

// ownSecret is the secret that people brought, if they say so.
func ownSecret(r *page.Request, missing string) (*string, error) {
	if r.PostFormValue("from") != "own" {
		return nil, nil
	}
	secret := r.Text("secret")
	if secret == "" {
		return nil, lineshaft.Invalid("secret", "%s", missing)
	}
	return &secret, nil
}

func rotateView(v hookView, from, overlap string) page.Page {
	title := "Rotate secret"
	if v.NeedsSecret {
		title = "Finish set-up"
	}
	return v.page(title, v.within(), rotateData{Hook: v, From: from, Overlap: overlap})
}

// rotatePage asks for a new secret, or for the first one that a provider made. It proposes a day
// for the sender to follow, unless the old secret is in an overlap already.
func rotatePage(v hookView) page.Page {
	from, overlap := "make", "86400"
	if v.Kind.Issued {
		from = "own"
	}
	if v.NeedsSecret || !v.OldSecretUntil.IsZero() {
		overlap = "0"
	}
	return rotateView(v, from, overlap)
}

func (s pages) rotateWebhook(r *page.Request, v hookView) error {
	from, overlap := r.PostFormValue("from"), cmp.Or(r.Text("overlap_seconds"), "0")
	again := func(err error) error {
		return r.Again("webhookrotate", rotateView(v, from, overlap), err)
	}
	var wanted factories.WebhookRotation
	var err error
	if wanted.Overlap, err = readOverlap(overlap); err != nil {
		return again(err)
	}
	if wanted.Secret, err = ownSecret(r, "paste the secret"); err != nil {
		return again(err)
	}
	after, err := s.newestDelivery(r, v)
	if err != nil {
		return err
	}
	made, err := s.Control.RotateWebhook(r.Context(), r.Caller, v.Factory.UID, v.UID, wanted)
	if err != nil {
		return again(err)
	}
	if made.Secret == "" && !v.NeedsSecret {
		return r.Done(v.At, "The new secret is in effect.")
	}
	return s.showIssued(r, issued{IssuedWebhook: made, Factory: v.Factory, Given: wanted.Secret, After: after})
}

type editHookData struct {
	Hook    hookView
	Options hookOptions
}

func editHookPage(v hookView) page.Page { return editHookView(v, optionsOf(v.Webhook)) }

func editHookView(v hookView, o hookOptions) page.Page {
	return v.page("Settings of "+v.Name, v.within(), editHookData{Hook: v, Options: o})
}

func (s pages) editWebhook(r *page.Request, v hookView) error {
	options := readOptions(r)
	change, err := options.change(v.SignatureScheme)
	if err == nil {
		_, err = s.Control.UpdateWebhook(r.Context(), r.Caller, v.Factory.UID, v.UID, change)
	}
	if err != nil {
		return r.Again("webhookedit", editHookView(v, options), err)
	}
	return r.Done(v.At, "Saved.")
}

// deleteWebhookPage names what a deletion does before it is done.
func (s pages) deleteWebhookPage(r *page.Request, v hookView) (p page.Page, err error) {
	listeners, err := s.Control.Listeners(r.Context(), r.Caller, v.Factory.UID, v.UID)
	return v.page("Delete webhook", v.within(), webhookData{Hook: v, Listeners: listeners}), err
}

func (s pages) deleteWebhook(r *page.Request, v hookView) error {
	if err := s.Control.DeleteWebhook(r.Context(), r.Caller, v.Factory.UID, v.UID); err != nil {
		return err
	}
	return r.Done("/webhooks", "Webhook "+v.Name+" is deleted. Senders get 404 from now on.")
}

// waitData is the wait for a first delivery: what has come after one that was known.
type waitData struct {
	At    string
	After string
	// Last is the newest that came; Arrived says that it was accepted.
	Last    *shownDelivery
	Arrived bool
}

// firstDelivery is asked again and again by a page that waits.
func (s pages) firstDelivery(r *page.Request, v hookView) error {
	const looked = 10
	found, err := s.Control.ListDeliveries(r.Context(), r.Caller, v.Factory.UID, v.UID, trigger.DeliveryQuery{Limit: looked})
	if err != nil {
		return err
	}
	wait := waitData{At: v.At, After: r.URL.Query().Get("after")}
	fresh := slices.DeleteFunc(found.Items, func(d lineshaft.Delivery) bool { return d.ID <= wait.After })
	for _, d := range slices.Backward(fresh) {
		wait.Last = new(v.delivery(d))
		if wait.Arrived = d.Status == lineshaft.DeliveryAccepted; wait.Arrived {
			break
		}
	}
	return r.Fragment("webhookdone", "wait", wait)
}

// newestDelivery is the id of the newest delivery so far, if there is one.
func (s pages) newestDelivery(r *page.Request, v hookView) (string, error) {
	found, err := s.Control.ListDeliveries(r.Context(), r.Caller, v.Factory.UID, v.UID, trigger.DeliveryQuery{Limit: 1})
	if err != nil || len(found.Items) == 0 {
		return "", err
	}
	return found.Items[0].ID, nil
}
