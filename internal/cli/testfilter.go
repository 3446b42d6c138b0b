package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

func (w *webhookShell) testFilterCommand() *cobra.Command {
	var filter, payload, webhook, trigger string
	var req client.FilterTest
	cmd := &cobra.Command{
		Use:   "test-filter",
		Short: "Try a payload filter on a stored delivery or a payload",
		Long: "Try the filter of a trigger on a stored delivery or on a payload, and see how each of its checks\n" +
			"goes. Nothing is stored or started.",
		Args: needs(0, 0, ""),
		Example: example(
			`lineshaft webhook test-filter --filter '{"action": ["opened"]}' --delivery DELIVERY_ID`, "would it have matched?",
			"lineshaft webhook test-filter --filter @filter.json --payload @body.json", "both from files",
			"lineshaft webhook test-filter --webhook issues --filter @filter.json --delivery DELIVERY_ID", "with the webhooks of the trigger",
			`lineshaft webhook test-filter --trigger '{"provider": "github", "event": "issue_opened", "filter": {"labels": ["bug"]}}' --delivery DELIVERY_ID`, "a whole trigger",
		),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (filter == "-" || trigger == "-") && payload == "-" {
				return usage("filter and payload cannot both come from standard input", "Put one of them into a file.")
			}
			if (req.DeliveryID == "") == (payload == "") {
				return usage("the filter needs one thing to be tried on", "Give either --delivery DELIVERY_ID or --payload.")
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
				_, hook, err := w.find(cmd.Context(), webhook)
				if err != nil {
					return err
				}
				req.WebhookID = hook.UID
			}
			verdict, err := c.Webhooks.TestFilter(cmd.Context(), factory, req)
			if err != nil {
				return err
			}
			return w.tellVerdict(verdict)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&filter, "filter", "", "payload filter as `JSON`, @FILE, or - for standard input (default: one that matches all)")
	flags.StringVar(&trigger, "trigger", "", "whole trigger as `JSON`, @FILE, or - for standard input, instead of --filter and --webhook")
	flags.StringVar(&req.DeliveryID, "delivery", "", "`ID` of a stored delivery to try it on")
	flags.StringVar(&payload, "payload", "", "payload to try it on, as `JSON`, @FILE, or - for standard input")
	flags.StringVar(&req.PayloadEvent, "payload-event", "", "`EVENT` that the header of GitHub, GitLab or Linear names with the payload, such as issues")
	flags.StringArrayVar(&req.Filter.Webhooks, "webhook", nil, "`NAME` of a webhook that the trigger listens to; repeatable (default: all)")
	flags.StringVar(&webhook, "to", "", "`WEBHOOK` that the payload comes to (default: one that the trigger listens to)")
	flags.SortFlags = false
	return cmd
}

// readTrigger takes the trigger as a whole, or the parts that were given.
func (w *webhookShell) readTrigger(req *client.FilterTest, trigger, filter string) error {
	if trigger == "" {
		var err error
		req.Filter.Payload, err = w.jsonArgument("filter", filter)
		return err
	}
	if filter != "" || len(req.Filter.Webhooks) > 0 {
		return usage("a whole trigger has its own filter", "Leave out --filter and --webhook, or --trigger.")
	}
	raw, err := w.jsonArgument("trigger", trigger)
	if err != nil {
		return err
	}
	var whole client.Trigger
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&whole); err != nil {
		return usage(fmt.Sprintf("--trigger is no trigger: %v", err), `Write it as in an automation: {"provider": "github", "event": "issue_opened", "filter": {…}}.`)
	}
	req.Provider, req.Event, req.Filter = whole.Provider, whole.Event, whole.Filter
	return nil
}

// jsonArgument reads JSON from a flag, a file or standard input; nil if not given.
func (sh *shell) jsonArgument(flag, text string) (json.RawMessage, error) {
	if text == "" {
		return nil, nil
	}
	raw := []byte(text)
	if name, isFile := strings.CutPrefix(text, "@"); isFile || text == "-" {
		in := sh.in
		if isFile {
			file, err := os.Open(name)
			if err != nil {
				return nil, usage(fmt.Sprintf("cannot read the %s: %v", flag, err), fmt.Sprintf("Check the name given with --%s @FILE.", flag))
			}
			defer func() { _ = file.Close() }()
			in = file
		}
		var err error
		if raw, err = io.ReadAll(io.LimitReader(in, maxDelivery+1)); err != nil {
			return nil, failure(err, fmt.Sprintf("cannot read the %s: %v", flag, err), "Check what --"+flag+" names.")
		}
		if len(raw) > maxDelivery {
			return nil, usage(fmt.Sprintf("the %s has more than %d bytes", flag, maxDelivery), "No webhook takes that much.")
		}
	}
	if !json.Valid(raw) {
		return nil, usage(fmt.Sprintf("--%s is not JSON", flag), fmt.Sprintf("Write --%s '{\"key\": …}', or --%s @FILE.", flag, flag))
	}
	return raw, nil
}

func (w *webhookShell) tellVerdict(verdict *client.FilterVerdict) error {
	if !w.forPeople() {
		return w.document(verdict)
	}
	line := cell{"Would not trigger", styleBad}
	if verdict.WouldTrigger {
		line = cell{"Would trigger", styleGood}
	}
	fmt.Fprintf(w.out, "%s\n\n", w.paint(w.outWidth, line.style, line.text))
	// A filter that names no webhooks says nothing about them.
	w.showChecks(slices.DeleteFunc(slices.Clone(verdict.Checks), func(check client.FilterCheck) bool {
		return check.Path == "webhook" && string(check.Expected) == "[]"
	}))
	return nil
}
