// Package setup has `lineshaft init`, which leads from nothing to a run that a webhook started:
// it asks, makes a factory, a webhook and an automation, and sends a first delivery.
package setup

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/factories"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// Commands has the command that makes a first factory.
type Commands struct{ factories.Commands }

// firstPrompt works on every server: a server without a model and without an agent program
// runs its block.
const firstPrompt = "A webhook has been called. Say hello, and show what is in event-payload.json.\n\n" +
	"```sh\necho \"Hello from Lineshaft. The webhook was sent:\"\ncat event-payload.json\n```\n"

// tokenKind is the kind of a webhook whose senders show a bearer token; the others are
// the names of signature schemes.
const tokenKind = "token"

// firstRun is what `init` makes and what it has made so far.
type firstRun struct {
	*factories.WebhookShell
	c *client.Client

	yes                                    bool
	factoryName, webhookName, kind, filter string
	prompt, data, secretFile               string

	factoryUID string
	hook       *client.Webhook
	secret     string
	automation string
	// listener is an automation that serves the webhook already.
	listener *client.Automation
	// unused says what was given for an automation that may be there already.
	unused string
	made   []string
	// told says that the secret has been shown.
	told bool
}

// Command is `lineshaft init`.
func (sh Commands) Command() *cobra.Command {
	f := &firstRun{WebhookShell: &factories.WebhookShell{Commands: sh.Commands}}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Set up a first webhook that starts a run, step by step",
		Args:  shell.Needs(0, 0, ""),
		RunE:  func(cmd *cobra.Command, _ []string) error { return f.walk(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.yes, "yes", "y", false, "ask nothing")
	flags.StringVar(&f.factoryName, "factory", "", "`NAME` of the factory (default: the only one there is, else first)")
	flags.StringVar(&f.webhookName, "webhook", "hello", "`NAME` of the webhook, and of the automation that listens to it")
	flags.StringVar(&f.kind, "kind", tokenKind, "`KIND` of the webhook: token, or a signature scheme such as github")
	flags.StringVar(&f.filter, "filter", "", "payload filter as `JSON`, or @FILE (default: every delivery starts a run)")
	flags.StringVar(&f.prompt, "prompt", "", "the task of the runs, as `TEXT`; - is standard input (default: say hello)")
	flags.StringVar(&f.data, "data", "", "`JSON` of the test delivery, or @FILE (default: "+factories.SamplePayload+", or one that the filter lets through)")
	flags.StringVar(&f.secretFile, "secret-file", "", "`FILE` with the secret of an existing webhook, or the one from its provider")
	flags.SortFlags = false
	shell.CompleteWords(cmd, "kind", append([]string{tokenKind}, factories.SchemeNames()...)...)
	return cmd
}

// walk goes from step to step; what fails says how to continue.
func (f *firstRun) walk(ctx context.Context) error {
	err := f.ready(ctx)
	for _, step := range []func(context.Context) error{f.makeFactory, f.makeWebhook, f.makeAutomation, f.tryIt} {
		if err == nil {
			err = step(ctx)
		}
	}
	if err == nil || errors.Is(err, shell.ErrTold) || len(f.made) == 0 {
		return err
	}
	if lost := f.keepSecret(); lost != nil {
		return errors.Join(err, lost)
	}
	e := f.Explain(err)
	again := "Created so far: " + strings.Join(f.made, ", ") + ". " + f.goOn()
	return &shell.HintError{Code: e.Code, Cause: err, Message: e.Message, Hint: strings.TrimSpace(e.Hint + "\n" + again)}
}

// ready checks the flags, finds the server, and asks what is to be asked.
func (f *firstRun) ready(ctx context.Context) error {
	if err := shell.OneOf("kind", f.kind, append([]string{tokenKind}, factories.SchemeNames()...)); err != nil {
		return err
	}
	if _, err := f.JSONOrFile("filter", f.filter); err != nil {
		return err
	}
	var err error
	if f.secret, err = f.SecretFrom(ctx, f.secretFile); err != nil {
		return err
	}
	if f.c, err = f.Connect(ctx); err != nil {
		return err
	}
	me, err := f.c.Whoami(ctx)
	if err != nil {
		return err
	}
	f.sayf("server %s, as %s", f.Address(), cmp.Or(me.Principal.DisplayName, me.Principal.UID))
	if f.factoryName == "" {
		f.factoryName = "first"
		page, err := f.c.Factories.List(ctx, client.FactoryQuery{Limit: 2})
		if err != nil {
			return err
		}
		if len(page.Factories) == 1 {
			f.factoryName = page.Factories[0].Name
		}
	}
	if terminal := f.TerminalIn(); terminal != nil && !f.yes {
		err = f.askAll(ctx, terminal)
	} else {
		err = f.lookThere(ctx)
	}
	if err != nil {
		return err
	}
	if err := f.chooseData(); err != nil {
		return err
	}
	f.unused = unusedFlags("--filter", f.filter, "--prompt", f.prompt)
	f.prompt, err = f.TextOrStdin(cmp.Or(f.prompt, firstPrompt))
	return err
}

// unusedFlags names flags that have a value, given in pairs, and where to say that instead.
func unusedFlags(pairs ...string) string {
	var given []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			given = append(given, pairs[i])
		}
	}
	if len(given) == 0 {
		return ""
	}
	return ", without " + strings.Join(given, " and ") + ": `lineshaft automation update` changes it"
}

// sayf says how far it is.
func (f *firstRun) sayf(format string, args ...any) {
	fmt.Fprintln(f.Err, "-- "+shell.Clean(fmt.Sprintf(format, args...)))
}

// missing says that the error is about a thing that does not exist.
func missing(err error) bool {
	e, ok := errors.AsType[*shell.HintError](err)
	return ok && e.Code == shell.ExitNotFound
}

func (f *firstRun) makeFactory(ctx context.Context) error {
	uid, err := f.Commands.FactoryUID(ctx, f.c, f.factoryName)
	if err == nil {
		f.factoryUID, f.Factory = uid, uid
		f.sayf("factory %s: already exists", f.factoryName)
		return nil
	}
	if !missing(err) {
		return err
	}
	made, err := f.c.Factories.Create(ctx, client.FactoryRequest{Name: f.factoryName})
	if err != nil {
		return err
	}
	f.factoryUID, f.Factory = made.UID, made.UID
	f.made = append(f.made, "factory "+f.factoryName)
	f.sayf("factory %s: created", f.factoryName)
	return nil
}

func (f *firstRun) makeWebhook(ctx context.Context) error {
	_, hook, err := f.Find(ctx, f.webhookName)
	if err == nil {
		f.hook = hook
		if kind := factories.WebhookMode(hook); kind != f.kind {
			f.sayf("webhook %s: already exists, as %s, and stays as it is", f.webhookName, kind)
			return nil
		}
		f.sayf("webhook %s: already exists", f.webhookName)
		return nil
	}
	if !missing(err) {
		return err
	}
	req := client.WebhookRequest{Name: f.webhookName, AuthMode: "token", Secret: f.secret}
	if f.kind != tokenKind {
		req.AuthMode, req.SignatureScheme = "signature", f.kind
	}
	if f.kind == "hmac" {
		req.HMAC = &client.WebhookHMAC{Header: "X-Signature"}
	}
	if f.hook, err = f.c.Webhooks.Create(ctx, f.factoryUID, req); err != nil {
		return err
	}
	f.secret = cmp.Or(f.hook.Secret, f.secret)
	f.made = append(f.made, "webhook "+f.webhookName)
	f.sayf("webhook %s: created", f.webhookName)
	return nil
}

func (f *firstRun) makeAutomation(ctx context.Context) error {
	f.automation = f.webhookName
	if f.listener != nil && f.listener.Name != f.webhookName {
		// A second one would start a second run for each delivery.
		f.automation = f.listener.Name
		f.sayf("automation %s: listens to webhook %s already and stays as it is%s", f.automation, f.webhookName, f.unused)
		f.sayf("no other automation is created: `lineshaft automation create` adds one, which starts its own runs")
		return nil
	}
	if f.listener != nil {
		f.sayf("automation %s: already exists and stays as it is%s", f.automation, f.unused)
		return nil
	}
	payload, err := f.JSONOrFile("filter", f.filter)
	if err != nil {
		return err
	}
	_, err = f.c.Automations.Create(ctx, f.factoryUID, client.AutomationRequest{
		Name: f.automation, Prompt: f.prompt,
		Triggers: []client.Trigger{{Provider: "webhook", Event: "received", Filter: client.TriggerFilter{Webhooks: []string{f.webhookName}, Payload: payload}}},
	})
	if err != nil {
		return err
	}
	f.made = append(f.made, "automation "+f.automation)
	f.sayf("automation %s: created", f.automation)
	return nil
}

// initResult is the output for programs.
type initResult struct {
	FactoryUID string          `json:"factory_uid"`
	Webhook    *client.Webhook `json:"webhook"`
	Automation string          `json:"automation"`
	DeliveryID string          `json:"delivery_id,omitempty"`
	RunID      string          `json:"run_id,omitempty"`
	Run        json.RawMessage `json:"run,omitempty"`
}

// question is one that init asks; Enter takes what the answer holds already.
type question struct {
	text   string
	answer *string
	// shown replaces a long proposal.
	shown string
	check func(string) error
}

// askAll asks for what will be used: what already exists stays as it is.
func (f *firstRun) askAll(ctx context.Context, terminal *os.File) error {
	fmt.Fprintln(f.Err, "Enter accepts what is in brackets; Ctrl-C stops. Nothing is created before the last answer.")
	lines := bufio.NewReader(terminal)
	if err := f.askEach(ctx, lines,
		question{text: "Factory", answer: &f.factoryName, check: needsName},
		question{text: "Name of the webhook", answer: &f.webhookName, check: needsName},
	); err != nil {
		return err
	}
	if err := f.lookThere(ctx); err != nil {
		return err
	}
	if f.hook == nil {
		if err := f.askEach(ctx, lines, question{text: "Kind: token (a bearer token), or who signs, such as github", answer: &f.kind, check: func(kind string) error {
			return shell.Known("the kind", kind, append([]string{tokenKind}, factories.SchemeNames()...))
		}}); err != nil {
			return err
		}
	}
	if f.listener == nil {
		if err := f.askEach(ctx, lines,
			question{text: `Filter, such as {"status": ["failed"]}`, answer: &f.filter, shown: "every delivery", check: f.typedFilter},
			question{text: "Prompt", answer: &f.prompt, shown: "say hello and show the payload", check: func(string) error { return nil }},
		); err != nil {
			return err
		}
	}
	filter, err := f.filterThere()
	if err != nil || f.data != "" || len(filter) == 0 || !f.sends() {
		return err
	}
	f.data = f.passes(filter)
	return f.ask(ctx, lines, question{text: "A delivery that the filter lets through, as JSON or @FILE", answer: &f.data, shown: "none", check: func(text string) error {
		if text == "" {
			return shell.Usage("a delivery is required", `Type JSON such as {"status": "failed"}, or @FILE.`)
		}
		if err := f.typedJSON("the delivery")(text); err != nil {
			return err
		}
		return f.checkPasses(filter, text)
	}})
}

func (f *firstRun) askEach(ctx context.Context, lines *bufio.Reader, questions ...question) error {
	for _, q := range questions {
		if err := f.ask(ctx, lines, q); err != nil {
			return err
		}
	}
	return nil
}

// typedFilter checks a filter before anything is made with it.
func (f *firstRun) typedFilter(text string) error {
	if err := f.typedJSON("the filter")(text); err != nil {
		return err
	}
	raw, err := f.JSONOrFile("filter", text)
	if err != nil {
		return err
	}
	return checkFilter(raw)
}

// typedJSON checks an answer, and speaks of it rather than of the flag that it replaces.
func (f *firstRun) typedJSON(what string) func(string) error {
	return func(text string) error {
		_, err := f.JSONFrom(what, `Type JSON such as {"action": ["opened"]}, or @FILE.`, text)
		return err
	}
}

func needsName(text string) error {
	if strings.TrimSpace(text) == "" {
		return shell.Usage("a name is required", "Type one.")
	}
	return nil
}

// ask puts one question until its answer can be used.
func (f *firstRun) ask(ctx context.Context, lines *bufio.Reader, q question) error {
	for {
		proposal := shell.Clip(shell.OneLine(cmp.Or(*q.answer, q.shown)), 60)
		fmt.Fprintf(f.Err, "%s [%s]: ", q.text, f.Paint(f.ErrWidth, shell.StyleBold, proposal))
		typed, err := shell.ReadLine(ctx, lines)
		if err != nil {
			fmt.Fprintln(f.Err)
			return shell.Failure(err, "interrupted", "Nothing was created.")
		}
		typed = cmp.Or(strings.TrimSpace(typed), *q.answer)
		mistake := q.check(typed)
		if mistake == nil {
			*q.answer = typed
			return nil
		}
		e := f.Explain(mistake)
		fmt.Fprintf(f.Err, "  %s. %s\n", shell.Clean(e.Message), shell.Clean(e.Hint))
	}
}
