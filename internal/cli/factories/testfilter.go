package factories

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

func (w *WebhookShell) testFilterCommand() *cobra.Command {
	var filter, payload, webhook, trigger string
	var req client.FilterTest
	cmd := &cobra.Command{
		Use:   "test-filter",
		Short: "Try a payload filter on a stored delivery or a payload",
		Args:  shell.Needs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (filter == "-" || trigger == "-") && payload == "-" {
				return shell.Usage("filter and payload cannot both come from standard input", "Put one of them into a file.")
			}
			if (req.DeliveryID == "") == (payload == "") {
				return shell.Usage("the filter needs one delivery or payload to try", "Give either --delivery DELIVERY_ID or --payload.")
			}
			if err := w.readTrigger(&req, trigger, filter); err != nil {
				return err
			}
			var err error
			if req.Payload, err = w.jsonArgument("payload", payload); err != nil {
				return err
			}
			c, factory, err := w.open(cmd.Context())
			if err != nil {
				return err
			}
			if webhook != "" {
				_, hook, err := w.Find(cmd.Context(), webhook)
				if err != nil {
					return err
				}
				req.WebhookID = hook.UID
			}
			return shell.Shown(w.tellVerdict)(c.Webhooks.TestFilter(cmd.Context(), factory, req))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&filter, "filter", "", "payload filter as `JSON`, @FILE, or - for standard input (default: one that matches all)")
	flags.StringVar(&trigger, "trigger", "", "whole trigger as `JSON`, @FILE, or - for standard input, instead of --filter and --webhook")
	flags.StringVar(&req.DeliveryID, "delivery", "", "`ID` of a stored delivery to try it on")
	flags.StringVar(&payload, "payload", "", "payload to try it on, as `JSON`, @FILE, or - for standard input")
	flags.StringVar(&req.PayloadEvent, "payload-event", "", "`EVENT` that GitHub, GitLab or Linear would name in a header, such as issues")
	flags.StringArrayVar(&req.Filter.Webhooks, "webhook", nil, "`NAME` of a webhook that the trigger listens to; repeatable (default: all)")
	flags.StringVar(&webhook, "to", "", "`WEBHOOK` that gets the payload (default: one that the trigger listens to)")
	flags.SortFlags = false
	return cmd
}

// readTrigger takes the trigger as a whole, or the parts that were given.
func (w *WebhookShell) readTrigger(req *client.FilterTest, trigger, filter string) error {
	if trigger == "" {
		var err error
		req.Filter.Payload, err = w.jsonArgument("filter", filter)
		return err
	}
	if filter != "" || len(req.Filter.Webhooks) > 0 {
		return shell.Usage("a whole trigger has its own filter", "Leave out --filter and --webhook, or --trigger.")
	}
	raw, err := w.jsonArgument("trigger", trigger)
	if err != nil {
		return err
	}
	var whole client.Trigger
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&whole); err != nil {
		return shell.Usage(fmt.Sprintf("--trigger is not a trigger: %v", err),
			`Write it as in an automation: {"provider": "github", "event": "issue_opened", "filter": {…}}.`)
	}
	req.Provider, req.Event, req.Filter = whole.Provider, whole.Event, whole.Filter
	return nil
}

// jsonArgument reads JSON from a flag, a file or standard input; nil if not given.
func (sh Commands) jsonArgument(flag, text string) (json.RawMessage, error) {
	if text == "" {
		return nil, nil
	}
	raw, err := sh.payload(flag, flag, text)
	if err == nil && !json.Valid(raw) {
		err = shell.Usage(fmt.Sprintf("--%s is not JSON", flag), fmt.Sprintf("Write --%s '{\"key\": …}', or --%s @FILE.", flag, flag))
	}
	return raw, err
}

func (w *WebhookShell) tellVerdict(verdict *client.FilterVerdict) error {
	if !w.ForPeople() {
		return w.Document(verdict)
	}
	line := shell.Styled("Would not trigger", shell.StyleBad)
	if verdict.WouldTrigger {
		line = shell.Styled("Would trigger", shell.StyleGood)
	}
	fmt.Fprintf(w.Out, "%s\n\n", w.Paint(w.OutWidth, line.Style, line.Text))
	// A filter that names no webhooks says nothing about them.
	w.showChecks(slices.DeleteFunc(slices.Clone(verdict.Checks), func(check client.FilterCheck) bool {
		return check.Path == "webhook" && string(check.Expected) == "[]"
	}))
	return nil
}
