package control

import (
	"context"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/notify"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/definition"
	"github.com/lineshaft/lineshaft/internal/filter"
	"github.com/lineshaft/lineshaft/internal/store"
)

// What other parts of this package call, for the tests outside it.

func InsertSecret(ctx context.Context, s *Service, tx *store.Tx, c lineshaft.Caller, secret lineshaft.Secret, value string) error {
	return s.InsertSecret(ctx, tx, c, secret, value)
}

func ReplaceSecretValue(ctx context.Context, s *Service, tx *store.Tx, c lineshaft.Caller, name, value string) error {
	return s.ReplaceSecretValue(ctx, tx, c, name, value)
}

func SecretValue(ctx context.Context, s *Service, tx *store.Tx, name string) (string, lineshaft.Secret, error) {
	return s.SecretValue(ctx, tx, name)
}

func CheckGrants(ctx context.Context, s *Service, tx *store.Tx, names []string) error {
	return s.CheckGrants(ctx, tx, lineshaft.AgentConfig{Secrets: names})
}

func SealCredential(s *Service, uid, value string) (string, error) {
	return s.SealValue(secrets.WebhookSeal(uid), []byte(value))
}

func OpenCredential(s *Service, uid, sealed string) ([]byte, error) {
	return s.OpenSealed(secrets.WebhookSeal(uid), sealed)
}

// StartInFactory starts a run of a factory as those do that have no network.
func StartInFactory(ctx context.Context, s *Service, tx *store.Tx, c lineshaft.Caller, factoryUID, agentUID string, req lineshaft.NewRun) (string, error) {
	n, _, err := s.NewRun(ctx, tx, c, req)
	if err != nil {
		return "", err
	}
	n.Head.FactoryUID, n.AgentUID = factoryUID, agentUID
	if err := s.SettleSkills(ctx, tx, n); err != nil {
		return "", err
	}
	return n.Head.ID, tx.InsertRun(ctx, n, runs.FirstEvents(n))
}

// TitleOf is what a run of an automation is called.
func TitleOf(a lineshaft.Automation, provider, body string) string {
	doc, err := filter.Parse([]byte(body))
	if err != nil {
		return err.Error()
	}
	return (&trigger.HookAutomation{Automation: a}).TitleFor(provider, doc)
}

// PushTo says whether a body reports a push to what a factory follows.
func PushTo(source lineshaft.GitSource, body string) bool {
	doc, err := filter.Parse([]byte(body))
	return err == nil && trigger.PushTo(&source, doc)
}

// ApplyCommit applies a folder as the follower of a repository does.
func ApplyCommit(ctx context.Context, s *Service, c lineshaft.Caller, factoryUID string, files definition.Files, commit string) (factories.Applied, error) {
	return s.ApplyFiles(ctx, c, factoryUID, files, factories.RevisionNote{Source: lineshaft.RevisionRepository, Commit: commit})
}

// WithRepositories fills in how far a factory that was read before has followed.
func WithRepositories(ctx context.Context, s *Service, f *lineshaft.Factory) error {
	return s.WithRepositories(ctx, f)
}

// BareHook is a webhook without credentials that an automation with triggers listens to.
func BareHook(w lineshaft.Webhook, triggers []lineshaft.Trigger) (*trigger.Hook, error) {
	a := &trigger.HookAutomation{Automation: lineshaft.Automation{Triggers: triggers}}
	return (&Service{}).NewHook(&lineshaft.Factory{}, store.Webhook{Webhook: w}, []*trigger.HookAutomation{a})
}

// Evaluate says how many automations match.
func Evaluate(h *trigger.Hook, event string, body []byte) int {
	return len(h.Evaluate(event, body).Matched)
}

// ChainSetting is where the place is stored.
const ChainSetting = trigger.ChainSetting

// ClaimCallbacks takes what is due of an endpoint as a node does that then dies.
func ClaimCallbacks(ctx context.Context, s *Service, notificationID string) (claimed int, err error) {
	err = s.base.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		now, err := s.base.TimerClock(ctx, tx)
		if err != nil {
			return err
		}
		n, err := tx.GetNotification(ctx, notificationID)
		if err != nil {
			return err
		}
		claims, err := tx.ClaimNotificationDeliveries(ctx, n, now, now.Add(notify.CallbackLease), 10)
		claimed = len(claims)
		return err
	})
	return claimed, err
}
