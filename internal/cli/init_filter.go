package cli

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/filter"
	"github.com/lineshaft/lineshaft/internal/signature"
)

// lookThere finds the webhook that was named and an automation that serves it, nil where
// there is none.
func (f *firstRun) lookThere(ctx context.Context) error {
	uid, err := f.shell.factoryUID(ctx, f.c, f.factoryName)
	if missing(err) {
		return nil // so it has neither
	}
	if err != nil {
		return err
	}
	f.factory = uid
	if _, f.hook, err = f.find(ctx, f.webhookName); err != nil && !missing(err) {
		return err
	}
	list, err := automations(ctx, f.c, uid)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(a client.Automation) bool { return a.Name == f.webhookName })
	if i < 0 && f.hook != nil {
		i = slices.IndexFunc(list, func(a client.Automation) bool {
			return a.Enabled && slices.ContainsFunc(a.Triggers, func(t client.Trigger) bool { return hears(t, f.hook) })
		})
	}
	if i >= 0 {
		f.listener = &list[i]
	}
	return nil
}

// hears says whether deliveries to the webhook concern the trigger. One of a forge that
// names no webhooks hears all of that forge.
func hears(t client.Trigger, hook *client.Webhook) bool {
	if slices.Contains(t.Filter.Webhooks, hook.Name) || slices.Contains(t.Filter.WebhookIDs, hook.UID) {
		return true
	}
	return t.Provider == hook.SignatureScheme && t.Provider != "" && len(t.Filter.Webhooks)+len(t.Filter.WebhookIDs) == 0
}

// filterThere is the filter that the test delivery has to pass: of the automation that
// is there, or of the one that will be made. None lets everything through.
func (f *firstRun) filterThere() (json.RawMessage, error) {
	if f.listener == nil {
		return f.jsonOrFile("filter", f.filter)
	}
	for _, t := range f.listener.Triggers {
		if t.Provider == "webhook" && len(t.Filter.Payload) > 0 {
			return t.Filter.Payload, nil
		}
	}
	return nil, nil
}

// scheme is how the sender of the webhook signs; the zero one if it does not.
func (f *firstRun) scheme() signature.Scheme {
	name := f.kind
	if f.hook != nil {
		name = f.hook.SignatureScheme
	}
	scheme, _ := signature.Find(name)
	return scheme
}

// sends says whether there will be a test delivery: that takes the secret.
func (f *firstRun) sends() bool {
	if f.hook != nil {
		return f.secret != "" && !f.hook.NeedsSecret
	}
	return f.secret != "" || f.scheme().SecretFrom != signature.Issued
}

// chooseData settles what the test delivery holds, and refuses what cannot start a run
// before anything is made.
func (f *firstRun) chooseData() error {
	raw, err := f.filterThere()
	if err != nil {
		return err
	}
	if f.listener == nil {
		if err := checkFilter(raw); err != nil {
			return err
		}
	}
	switch {
	case f.data != "" && f.listener == nil && len(raw) > 0:
		return f.checkPasses(raw, f.data)
	case f.data != "":
		return nil
	case len(raw) > 0:
		if f.data = f.passes(raw); f.data == "" && f.sends() {
			return usage("there is a filter, and no delivery that is known to pass it", "Add --data JSON, or --data @FILE, with one that it lets through.")
		}
		if f.data == "" {
			f.data = "JSON" // nothing is sent; it stands in the line that tells how to
		}
	case len(f.scheme().Identity) == 0:
		f.data = samplePayload
	}
	return nil // for a scheme with places of its own, the test object has them
}

// checkFilter says what is wrong with a filter, as the server would.
func checkFilter(raw json.RawMessage) error {
	if _, err := filter.Compile(raw); err != nil {
		return usage(blame(err), "docs/factories.md tells what a filter may say.")
	}
	return nil
}

// checkPasses wants a delivery that the filter lets through.
func (f *firstRun) checkPasses(raw json.RawMessage, data string) error {
	body, err := f.jsonOrFile("data", data)
	if err != nil {
		return err
	}
	if !matches(raw, body) {
		return usage("the filter does not let the test delivery through", "Change the one or the other: `lineshaft webhook test-filter --filter JSON --payload JSON` shows each check.")
	}
	return nil
}

func matches(raw, body json.RawMessage) bool {
	compiled, err := filter.Compile(raw)
	if err != nil {
		return false
	}
	doc, err := filter.Parse(body)
	return err == nil && compiled.Match(doc)
}

// passes makes a delivery that the filter lets through; empty if it finds none, or if
// the sender has places of its own in the body.
func (f *firstRun) passes(raw json.RawMessage) string {
	scheme := f.scheme()
	stamped := slices.ContainsFunc(scheme.Rules, func(r signature.Rule) bool { return r.Stamp.Body != "" })
	var wanted map[string]any
	if stamped || len(delivery{scheme: scheme.Name}.bodyIDs()) > 0 || json.Unmarshal(raw, &wanted) != nil {
		return ""
	}
	body, err := json.Marshal(firstOf(wanted))
	if err != nil || !matches(raw, body) {
		return ""
	}
	return string(body)
}

// firstOf is the object that a filter mirrors, with the first value that each field may
// have. What only has to be absent, or other, is left out.
func firstOf(wanted map[string]any) map[string]any {
	body := map[string]any{}
	for name, want := range wanted {
		object, _ := want.(map[string]any)
		values, _ := want.([]any)
		if in, ok := object["in"].([]any); ok {
			values = in
		}
		_, negated := object["not_in"]
		exists, tested := object["exists"]
		switch {
		case len(values) > 0:
			body[name] = values[0]
		case tested && exists == true:
			body[name] = "test"
		case object != nil && !negated && !tested:
			body[name] = firstOf(object)
		}
	}
	return body
}
