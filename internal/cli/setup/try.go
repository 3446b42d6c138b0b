package setup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/factories"
	"github.com/lineshaft/lineshaft/internal/cli/runs"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/filter"
	"github.com/lineshaft/lineshaft/internal/signature"
)

// lookThere finds the webhook that was named and an automation that serves it, nil where
// there is none.
func (f *firstRun) lookThere(ctx context.Context) error {
	uid, err := f.Commands.FactoryUID(ctx, f.c, f.factoryName)
	if missing(err) {
		return nil // so it has neither
	}
	if err != nil {
		return err
	}
	f.Factory = uid
	if _, f.hook, err = f.Find(ctx, f.webhookName); err != nil && !missing(err) {
		return err
	}
	list, err := factories.Automations(ctx, f.c, uid)
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

// hears says whether deliveries to the webhook concern the trigger. A forge trigger that
// names no webhooks gets all of that forge.
func hears(t client.Trigger, hook *client.Webhook) bool {
	if slices.Contains(t.Filter.Webhooks, hook.Name) || slices.Contains(t.Filter.WebhookIDs, hook.UID) {
		return true
	}
	return t.Provider == hook.SignatureScheme && t.Provider != "" && len(t.Filter.Webhooks)+len(t.Filter.WebhookIDs) == 0
}

// filterThere is the filter that the test delivery must pass: of the existing
// automation, or of the one that will be made. None lets everything through.
func (f *firstRun) filterThere() (json.RawMessage, error) {
	if f.listener == nil {
		return f.JSONOrFile("filter", f.filter)
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

// chooseData decides what the test delivery holds, and refuses what cannot start a run
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
			return shell.Usage("there is a filter, but no test delivery that passes it",
				"Add --data JSON or --data @FILE with one that does.")
		}
		if f.data == "" {
			f.data = "JSON" // nothing is sent; it appears in the line that shows how to
		}
	case len(f.scheme().Identity) == 0:
		f.data = factories.SamplePayload
	}
	return nil // for a scheme with places of its own, the test object has them
}

// checkFilter says what is wrong with a filter, as the server would.
func checkFilter(raw json.RawMessage) error {
	if _, err := filter.Compile(raw); err != nil {
		return shell.Usage(factories.Blame(err), "See docs/factories.md for what a filter may contain.")
	}
	return nil
}

// checkPasses wants a delivery that the filter lets through.
func (f *firstRun) checkPasses(raw json.RawMessage, data string) error {
	body, err := f.JSONOrFile("data", data)
	if err != nil {
		return err
	}
	if !matches(raw, body) {
		return shell.Usage("the filter does not let the test delivery through",
			"Change one of them: `lineshaft webhook test-filter --filter JSON --payload JSON` shows each check.")
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
	if stamped || len(factories.Delivery{Scheme: scheme.Name}.BodyIDs()) > 0 || json.Unmarshal(raw, &wanted) != nil {
		return ""
	}
	body, err := json.Marshal(firstOf(wanted))
	if err != nil || !matches(raw, body) {
		return ""
	}
	return string(body)
}

// firstOf is the object that a filter mirrors, with the first value that each field may
// have. A field that must only be absent, or other, is left out.
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

// tryIt sends a delivery, stays with the run that it started, and says how to continue.
func (f *firstRun) tryIt(ctx context.Context) error {
	result := initResult{FactoryUID: f.factoryUID, Webhook: f.hook, Automation: f.automation}
	switch {
	case f.hook.NeedsSecret:
		f.sayf("no test delivery: the secret for this kind comes from its provider")
		if f.ForPeople() {
			return f.Issued(f.hook, f.factoryName)
		}
		return f.Document(result)
	case f.secret == "":
		f.sayf("no test delivery: the secret of webhook %s was shown only once; add --secret-file to send one", f.webhookName)
		return f.nextSteps(result)
	}
	deliveryID, err := f.sendOne(ctx)
	if err != nil {
		return err
	}
	result.DeliveryID = deliveryID
	f.sayf("delivery %s: accepted", deliveryID)
	if result.RunID, err = f.runOf(ctx, deliveryID); err != nil {
		return err
	}
	f.sayf("run %s: started by it", result.RunID)
	if !f.ForPeople() {
		run, err := f.c.Runs.Wait(ctx, result.RunID, client.WaitOptions{})
		if err != nil {
			return f.Left(ctx, result.RunID, err)
		}
		result.Run, f.told = run.RawJSON(), true
		failed := error(nil)
		if run.State != client.StateSucceeded {
			failed = shell.ErrTold
		}
		return errors.Join(f.Document(result), failed)
	}
	stayed := f.Stay(ctx, f.c, result.RunID, 0, runs.Attend{Follow: true})
	if stayed != nil && !errors.Is(stayed, shell.ErrTold) {
		return stayed
	}
	return errors.Join(f.nextSteps(result), stayed)
}

// sendOne sends the test delivery and returns its id.
func (f *firstRun) sendOne(ctx context.Context) (string, error) {
	d := factories.Delivery{URL: f.hook.IngressURL, Mode: f.hook.AuthMode, Scheme: f.hook.SignatureScheme, IDHeader: f.hook.DeliveryIDHeader, Data: f.data}
	if f.hook.HMAC != nil {
		d.HMAC = *f.hook.HMAC
	}
	r, err := f.Signed(&d, f.secret)
	if err != nil {
		return "", err
	}
	answer, err := factories.Send(ctx, *r)
	if err != nil {
		return "", err
	}
	var body struct {
		DeliveryID string `json:"delivery_id"`
	}
	_ = json.Unmarshal(answer.Body, &body) // a refusal has another form, which tellDelivery explains
	if answer.Code >= http.StatusMultipleChoices || body.DeliveryID == "" {
		teller, shy := *f.WebhookShell, *f.Shell
		shy.Format = shell.FormatTable // the refusal as an error, not as a document
		teller.Shell = &shy
		return "", teller.TellDelivery(answer, d.ID)
	}
	return body.DeliveryID, nil
}

// runOf is the run that the delivery started by the automation of this command.
func (f *firstRun) runOf(ctx context.Context, deliveryID string) (string, error) {
	d, err := f.c.Webhooks.GetDelivery(ctx, f.factoryUID, f.hook.UID, deliveryID)
	if err != nil {
		return "", err
	}
	why := "its filter does not match the test delivery"
	for _, o := range d.Outcomes {
		if o.AutomationName == f.automation && o.RunID != "" {
			return o.RunID, nil
		}
		if o.AutomationName == f.automation {
			why = cmp.Or(o.Reason, o.Result)
		}
	}
	if i := slices.IndexFunc(d.Outcomes, func(o client.DeliveryOutcome) bool { return o.RunID != "" }); i >= 0 {
		return d.Outcomes[i].RunID, nil // another automation also listens to the webhook
	}
	return "", shell.Failure(nil, fmt.Sprintf("the delivery arrived, but automation %q started no run: %s", f.automation, why),
		fmt.Sprintf("See why: lineshaft webhook deliveries %s %s --explain%s\nSend another: lineshaft webhook send %s%s --secret-file %s --data JSON\nChange the filter: lineshaft automation update %s%s --filter JSON",
			shell.ShellWord(f.webhookName), deliveryID, f.where(), shell.ShellWord(f.webhookName), f.where(), f.secretPlace(), shell.ShellWord(f.automation), f.where()))
}

// keepSecret shows a secret that would be lost with the failure: it is shown only once.
func (f *firstRun) keepSecret() error {
	if f.hook == nil || f.hook.Secret == "" || f.told {
		return nil
	}
	return f.Show(initResult{FactoryUID: f.factoryUID, Webhook: f.hook, Automation: f.automation}, func() { f.showHook() })
}

func (f *firstRun) showHook() {
	f.told = true
	f.Pairs([][2]string{{"Webhook URL", f.hook.IngressURL}, {"Secret", f.hook.Secret}})
	if f.hook.Secret != "" {
		fmt.Fprintln(f.Err, "-- copy the secret now: it is not shown again")
	}
}

// nextSteps says what there is now, and what can be done with it.
func (f *firstRun) nextSteps(result initResult) error {
	return f.Show(result, func() {
		fmt.Fprintln(f.Out)
		f.showHook()
		told := *f.hook
		if f.ErrWidth == 0 {
			told.Secret = "" // standard error of a program ends in logs
		}
		where, name := f.where(), shell.ShellWord(f.webhookName)
		start := "to start a run"
		if result.RunID != "" {
			start += " again"
		}
		if f.hook.ReplayGuard {
			start += " (change the body each time: this webhook accepts each body once)"
		}
		fmt.Fprintf(f.Err, "-- %s:\n%s\n", start, factories.TryLine(&told, name+where, f.data))
		if f.secret == "" {
			fmt.Fprintf(f.Err, "-- if you lose the secret, this creates a new one:\nlineshaft webhook rotate %s\n", name+where)
		}
		fmt.Fprintln(f.Err, "-- next:")
		for _, line := range []string{
			"lineshaft webhook deliveries " + name + where + "   # what came in, and what it started",
			"lineshaft automation update " + shell.ShellWord(f.automation) + where + " --prompt TEXT   # the task of its runs",
			"lineshaft automation update " + shell.ShellWord(f.automation) + where + " --filter JSON   # which deliveries start a run",
			"lineshaft runs list   # every run; the dashboard shows them live",
		} {
			fmt.Fprintln(f.Err, line)
		}
	})
}

// where names the factory in lines that are printed.
func (f *firstRun) where() string { return " --factory " + shell.ShellWord(f.factoryName) }

// secretPlace is where a printed line has the secret from: a terminal is asked for it.
func (f *firstRun) secretPlace() string {
	switch {
	case f.secretFile != "" && f.secretFile != "-":
		return shell.ShellWord(f.secretFile)
	case f.TerminalIn() != nil:
		return "-"
	}
	return "FILE"
}

// goOn says how to call again after a failure. A delivery to an existing webhook needs
// its secret, which was shown once.
func (f *firstRun) goOn() string {
	if f.hook == nil {
		return "Fix it and call `lineshaft init` again: it continues from there."
	}
	line := "lineshaft init"
	if f.yes {
		line += " --yes"
	}
	return "Fix it and continue from there, with the secret of the webhook:\n" + line + f.where() + " --webhook " + shell.ShellWord(f.webhookName) + " --secret-file " + f.secretPlace()
}
