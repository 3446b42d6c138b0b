package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft/client"
)

// tryIt sends a delivery, stays with the run that it started, and tells how to go on.
func (f *firstRun) tryIt(ctx context.Context) error {
	result := initResult{FactoryUID: f.factoryUID, Webhook: f.hook, Automation: f.automation}
	switch {
	case f.hook.NeedsSecret:
		f.sayf("no test delivery: the secret of this kind comes from its provider")
		if f.forPeople() {
			return f.issued(f.hook, f.factoryName)
		}
		return f.document(result)
	case f.secret == "":
		f.sayf("no test delivery: the secret of webhook %s was shown once, when it was made; with --secret-file one is sent", f.webhookName)
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
	if !f.forPeople() {
		run, err := f.c.Runs.Wait(ctx, result.RunID, client.WaitOptions{})
		if err != nil {
			return f.left(ctx, result.RunID, err)
		}
		result.Run, f.told = run.RawJSON(), true
		failed := error(nil)
		if run.State != client.StateSucceeded {
			failed = errTold
		}
		return errors.Join(f.document(result), failed)
	}
	stayed := f.stay(ctx, f.c, result.RunID, 0, attend{follow: true})
	if stayed != nil && !errors.Is(stayed, errTold) {
		return stayed
	}
	return errors.Join(f.nextSteps(result), stayed)
}

// sendOne sends the test delivery and returns its id.
func (f *firstRun) sendOne(ctx context.Context) (string, error) {
	d := delivery{url: f.hook.IngressURL, mode: f.hook.AuthMode, scheme: f.hook.SignatureScheme, idHeader: f.hook.DeliveryIDHeader, data: f.data}
	if f.hook.HMAC != nil {
		d.hmac = *f.hook.HMAC
	}
	r, err := f.signed(&d, f.secret)
	if err != nil {
		return "", err
	}
	answer, err := send(ctx, *r)
	if err != nil {
		return "", err
	}
	var body struct {
		DeliveryID string `json:"delivery_id"`
	}
	_ = json.Unmarshal(answer.body, &body) // a refusal has another form, which tellDelivery explains
	if answer.code >= http.StatusMultipleChoices || body.DeliveryID == "" {
		shy := *f.webhookShell.shell
		shy.format = formatTable // the refusal as an error, not as a document
		return "", (&webhookShell{shell: &shy}).tellDelivery(answer, d.id)
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
		return d.Outcomes[i].RunID, nil // another automation listens to the webhook, too
	}
	return "", failure(nil, fmt.Sprintf("the delivery arrived, but automation %q started no run: %s", f.automation, why),
		fmt.Sprintf("See why: lineshaft webhook deliveries %s %s --explain%s\nSend another: lineshaft webhook send %s%s --secret-file %s --data JSON\nChange the filter: lineshaft automation update %s%s --filter JSON",
			shellWord(f.webhookName), deliveryID, f.where(), shellWord(f.webhookName), f.where(), f.secretPlace(), shellWord(f.automation), f.where()))
}

// keepSecret shows a secret that would be lost with the failure: it is told only once.
func (f *firstRun) keepSecret() error {
	if f.hook == nil || f.hook.Secret == "" || f.told {
		return nil
	}
	if !f.forPeople() {
		return f.document(initResult{FactoryUID: f.factoryUID, Webhook: f.hook, Automation: f.automation})
	}
	f.showHook()
	return nil
}

func (f *firstRun) showHook() {
	f.told = true
	f.pairs([][2]string{{"Webhook URL", oneLine(f.hook.IngressURL)}, {"Secret", oneLine(f.hook.Secret)}})
	if f.hook.Secret != "" {
		fmt.Fprintln(f.err, "-- copy the secret now: it is not shown again")
	}
}

// nextSteps tells what there is now, and what can be done with it.
func (f *firstRun) nextSteps(result initResult) error {
	if !f.forPeople() {
		return f.document(result)
	}
	fmt.Fprintln(f.out)
	f.showHook()
	told := *f.hook
	if f.errWidth == 0 {
		told.Secret = "" // standard error of a program ends in logs
	}
	where, name := f.where(), shellWord(f.webhookName)
	start := "to start a run"
	if result.RunID != "" {
		start += " again"
	}
	line := tryLine(&told, name+where, f.data)
	if strings.HasPrefix(line, "curl ") {
		start += " (change the body each time: the same one twice is a duplicate)"
	}
	fmt.Fprintf(f.err, "-- %s:\n%s\n", start, line)
	if f.secret == "" {
		fmt.Fprintf(f.err, "-- if the secret is lost, this makes a new one:\nlineshaft webhook rotate %s\n", name+where)
	}
	fmt.Fprintln(f.err, "-- next:")
	for _, line := range []string{
		"lineshaft webhook deliveries " + name + where + "   # what came in, and what it started",
		"lineshaft automation update " + shellWord(f.automation) + where + " --prompt TEXT   # what runs are told",
		"lineshaft automation update " + shellWord(f.automation) + where + " --filter JSON   # which deliveries count",
		"lineshaft runs list   # every run; the pages of the server show them live",
	} {
		fmt.Fprintln(f.err, line)
	}
	return nil
}

// where names the factory in lines that are printed.
func (f *firstRun) where() string { return " --factory " + shellWord(f.factoryName) }

// secretPlace is where a printed line has the secret from: a terminal is asked for it.
func (f *firstRun) secretPlace() string {
	switch {
	case f.secretFile != "" && f.secretFile != "-":
		return shellWord(f.secretFile)
	case f.terminalIn() != nil:
		return "-"
	}
	return "FILE"
}

// goOn says how to call again after a failure. A webhook that is there is only sent to
// with its secret, which was shown once.
func (f *firstRun) goOn() string {
	if f.hook == nil {
		return "Mend it and call `lineshaft init` again: it goes on from there."
	}
	line := "lineshaft init"
	if f.yes {
		line += " --yes"
	}
	return "Mend it and go on from there, with the secret of the webhook:\n" + line + f.where() + " --webhook " + shellWord(f.webhookName) + " --secret-file " + f.secretPlace()
}
