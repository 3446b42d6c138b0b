package trigger

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/catalog"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/filter"
	"github.com/lineshaft/lineshaft/internal/signature"
	"github.com/lineshaft/lineshaft/internal/store"
)

// Hook is a webhook made ready for deliveries: its credentials are open, its
// automations compiled. It is a copy as of one revision of its factory; the
// transaction that accepts a delivery checks that it is still the newest.
type Hook struct {
	lineshaft.Webhook

	revision int64
	paused   bool
	// rateName names the window of its deliveries, rateBlock what a node knows of it: a
	// changed limit is asked for again.
	rateName, rateBlock string
	// follows is the repository of the factory, if it follows one.
	follows *lineshaft.GitSource
	current credential
	// old counts until oldUntil, after a rotation with overlap.
	old      credential
	oldUntil time.Time

	Automations []*HookAutomation
	// filters has one entry for each trigger; owners says whose it is.
	filters *filter.Set
	owners  []int
	// sent are the triggers of the provider that sends to this webhook.
	sent []sentTrigger
}

// sentTrigger is a trigger of the automation with that index.
type sentTrigger struct {
	matcher *catalog.Matcher
	owner   int
}

// credential is what a sender proves itself with: a token or a signature.
type credential struct {
	token    [sha256.Size]byte
	verifier *signature.Verifier
	set      bool
}

// HookAutomation is an automation with all that its runs have in common.
type HookAutomation struct {
	lineshaft.Automation

	caller lineshaft.Caller
	// handle is what the factory is mentioned by.
	handle   string
	agentUID string
	config   lineshaft.AgentConfig
	origins  map[string]string
	// paused and budget, which is for a day, are the factory's.
	paused bool
	budget lineshaft.Budget
	// Broken is why it cannot start runs, such as an agent that is gone.
	Broken string
}

// CheckToken says whether a token is the webhook's, in constant time.
func (h *Hook) CheckToken(token string, now time.Time) bool {
	sum := sha256.Sum256([]byte(token))
	match := h.current.matches(sum)
	if h.old.set && now.Before(h.oldUntil) {
		match |= h.old.matches(sum)
	}
	return match == 1
}

func (c credential) matches(sum [sha256.Size]byte) int {
	if !c.set {
		return 0
	}
	return subtle.ConstantTimeCompare(c.token[:], sum[:])
}

// Verify checks a signature with the credentials in force.
func (h *Hook) Verify(r signature.Request) error {
	if !h.current.set {
		return signature.ErrNotAuthentic
	}
	err := h.current.verifier.Verify(r)
	if err != nil && h.old.set && r.Now.Before(h.oldUntil) {
		return h.old.verifier.Verify(r)
	}
	return err
}

// Provider reads what the provider's scheme says about an authentic request; nil
// for the token modes.
func (h *Hook) Provider() *signature.Verifier { return h.current.verifier }

// NewHook opens a webhook's credentials and compiles its automations.
func (s *Triggers) NewHook(f *lineshaft.Factory, w store.Webhook, automations []*HookAutomation) (*Hook, error) {
	h := &Hook{Webhook: w.Webhook, revision: f.Revision, paused: f.Paused, oldUntil: w.OldUntil, rateName: "deliveries/" + w.UID}
	h.rateBlock = h.rateName + "@" + strconv.FormatInt(h.revision, 10)
	var err error
	if h.current, err = s.openCredential(w, w.Credential); err != nil {
		return nil, err
	}
	if h.old, err = s.openCredential(w, w.OldCredential); err != nil {
		return nil, err
	}
	var filters []*filter.Filter
	for _, a := range automations {
		listening := false
		for _, t := range a.Triggers {
			if !Listens(t, w.Webhook) {
				continue
			}
			if !listening {
				h.Automations, listening = append(h.Automations, a), true
			}
			owner := len(h.Automations) - 1
			f, m, err := CompileTrigger(t, a.handle)
			switch {
			case err != nil:
				return nil, fmt.Errorf("automation %s: %w", a.UID, err)
			case m != nil:
				h.sent = append(h.sent, sentTrigger{matcher: m, owner: owner})
			default:
				filters, h.owners = append(filters, f), append(h.owners, owner)
			}
		}
	}
	h.filters = filter.NewSet(filters)
	return h, nil
}

// CompileTrigger makes a trigger ready: a matcher for one whose provider sends events, a
// filter for any other. The handle is what the factory is mentioned by.
func CompileTrigger(t lineshaft.Trigger, handle string) (*filter.Filter, *catalog.Matcher, error) {
	if t.Sent() {
		m, err := catalog.Compile(t, handle)
		return nil, m, err
	}
	if err := catalog.Check(t); err != nil {
		return nil, nil, err
	}
	f, err := filter.Compile(t.Filter.Payload)
	return f, nil, err
}

// SenderOf is the provider whose signature a webhook checks, if its events are in the
// catalogue; "" for all others.
func SenderOf(w lineshaft.Webhook) string {
	if w.AuthMode != lineshaft.AuthSignature || !(lineshaft.Trigger{Provider: w.SignatureScheme}).Sent() {
		return ""
	}
	return w.SignatureScheme
}

// EventHeader is where the sender names the event; "" when no header does.
func (h *Hook) EventHeader() string { return catalog.Header(SenderOf(h.Webhook)) }

// Listens says whether deliveries to a webhook concern a trigger. One whose provider sends
// events and that names no webhooks listens to all of that provider.
func Listens(t lineshaft.Trigger, w lineshaft.Webhook) bool {
	if t.Sent() {
		named := len(t.Filter.WebhookIDs)+len(t.Filter.Webhooks) > 0
		return t.Provider == SenderOf(w) && (!named || Selects(t.Filter, w))
	}
	return t.Provider == lineshaft.ProviderWebhook && Selects(t.Filter, w)
}

// Selects says whether a filter names a webhook.
func Selects(f lineshaft.TriggerFilter, w lineshaft.Webhook) bool {
	return slices.Contains(f.WebhookIDs, w.UID) || slices.Contains(f.Webhooks, w.Name)
}

func (s *Triggers) openCredential(w store.Webhook, sealed string) (credential, error) {
	if sealed == "" {
		return credential{}, nil
	}
	secret, err := s.secrets.OpenSealed(secrets.WebhookSeal(w.UID), sealed)
	if err != nil {
		return credential{}, fmt.Errorf("open credential of webhook %s: %w", w.UID, err)
	}
	if w.AuthMode != lineshaft.AuthSignature {
		return credential{token: sha256.Sum256(secret), set: true}, nil
	}
	verifier, err := signature.New(w.SignatureScheme, signature.HMAC(w.HMAC), string(secret))
	if err != nil {
		return credential{}, fmt.Errorf("prepare webhook %s: %w", w.UID, err)
	}
	return credential{verifier: verifier, set: true}, nil
}

// AutomationPrincipal is who runs of an automation belong to.
func AutomationPrincipal(uid, name string) lineshaft.Principal {
	return lineshaft.Principal{UID: base.AutomationPrincipalPrefix + uid, Type: lineshaft.ServiceAccount, DisplayName: name}
}

// NewHookAutomation resolves what all runs of an automation share.
func (s *Triggers) NewHookAutomation(f *lineshaft.Factory, agents []lineshaft.Agent, a lineshaft.Automation) *HookAutomation {
	h := &HookAutomation{Automation: a, handle: f.Alias, paused: f.Paused, budget: f.DailyBudget, caller: lineshaft.Caller{
		Principal: AutomationPrincipal(a.UID, a.Name), Role: lineshaft.RoleManager, FactoryUIDs: []string{f.UID},
	}}
	name := a.Agent
	name = cmp.Or(name, f.Foreman)
	at := slices.IndexFunc(agents, func(agent lineshaft.Agent) bool { return agent.Name == name })
	if at < 0 {
		h.Broken = fmt.Sprintf("the factory has no agent %q; name another one in the automation", name)
		return h
	}
	// Payloads come from outside: only secrets that the automation itself names go
	// to its runs.
	h.agentUID = agents[at].UID
	h.config, h.origins = s.runs.ResolveLayers(lineshaft.AgentConfig{}, runs.Definitions{Automation: &a, Agent: &agents[at], Factory: f, Limited: true})
	if err := h.config.CheckAuth(); err != nil {
		h.Broken = base.Reason(err)
	}
	return h
}

// concurrency fills the payload's values into the key of an automation's rule. Runs
// of a factory share its keys, but one that a payload fills in is the automation's
// own: a sender must not reach the runs of another automation with it.
func (h *HookAutomation) concurrency(doc *filter.Doc) (rule *lineshaft.Concurrency, slot string, err error) {
	rule = h.config.Concurrency
	if rule == nil {
		return nil, "", nil
	}
	if !strings.Contains(rule.Key, "{{") {
		return rule, runs.SlotKey(h.FactoryUID, rule.Key), nil
	}
	key, err := fillKey(rule.Key, doc)
	if err != nil {
		return nil, "", err
	}
	return &lineshaft.Concurrency{Key: key, Policy: rule.Policy}, "automation/" + h.UID + "/" + key, nil
}

// brake is the window of an automation's runs per hour, if they are bounded.
func (h *HookAutomation) brake() *store.Rate {
	if h.MaxRunsPerHour == 0 {
		return nil
	}
	return &store.Rate{Name: "automation/" + h.UID, Limit: h.MaxRunsPerHour, Window: time.Hour}
}

// start is what all runs of an automation need to pass.
func (h *HookAutomation) start() runs.RunStart {
	return runs.RunStart{Caller: h.caller, Paused: h.paused, Broken: h.Broken, FactoryUID: h.FactoryUID, Budget: h.budget, Brake: h.brake()}
}

const (
	maxConcurrencyKey = 256
	payloadVariable   = "payload."
)

// fillTemplate replaces {{payload.path}} by what value gives for that path.
func fillTemplate(template string, value func(path string) (string, error)) (string, error) {
	var out strings.Builder
	for rest := template; ; {
		text, after, found := strings.Cut(rest, "{{")
		out.WriteString(text)
		if !found {
			return out.String(), nil
		}
		name, next, closed := strings.Cut(after, "}}")
		name = strings.TrimSpace(name)
		path, known := strings.CutPrefix(name, payloadVariable)
		if !closed || !known {
			return "", fmt.Errorf("%q is in the template, but only {{payload.path}} can be filled in", "{{"+name)
		}
		filled, err := value(path)
		if err != nil {
			return "", err
		}
		out.WriteString(filled)
		rest = next
	}
}

// fillKey fills in a concurrency key: none of its values may be missing.
func fillKey(template string, doc *filter.Doc) (string, error) {
	key, err := fillTemplate(template, func(path string) (string, error) {
		value, _ := doc.Lookup(path)
		if value == "" {
			return "", fmt.Errorf("the concurrency key needs %s, which this payload does not have as a single value that is not empty", payloadVariable+path)
		}
		return value, nil
	})
	switch {
	case err != nil:
		return "", err
	case len(key) > maxConcurrencyKey:
		return "", fmt.Errorf("the concurrency key would have %d bytes; at most %d are allowed", len(key), maxConcurrencyKey)
	case strings.ContainsRune(key, 0):
		return "", errors.New("the concurrency key would have a NUL character")
	}
	return key, nil
}
