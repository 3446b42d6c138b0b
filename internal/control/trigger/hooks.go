package trigger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// hookPoll is how often to look for changes by other nodes without a wake-up.
const hookPoll = 500 * time.Millisecond

// hooks holds every webhook that takes deliveries. Readers never wait.
type hooks struct {
	live atomic.Pointer[map[string]*Hook]
	// chains are the automations that wait for the end of runs.
	chains atomic.Pointer[chainTable]
	// silent are the automations that listen to a webhook that is gone.
	silent atomic.Pointer[[]SilentAutomation]
	// missed is when a request last made us look.
	missed atomic.Int64

	mu sync.Mutex
	// revisions are those of the copies; a factory that could not be read has none.
	revisions map[string]int64
	parts     map[string]*factoryCopy // by factory
}

// missPoll is how often, at most, a webhook that is unknown or turns senders away
// makes us look whether another node has just changed it.
const missPoll = 200 * time.Millisecond

// Hook finds a webhook that takes deliveries; nil when it is unknown, disabled or
// deleted, and nothing says which.
func (s *Triggers) Hook(ctx context.Context, uid string) *Hook {
	if h := s.hooks.find(uid); h != nil {
		return h
	}
	s.lookAgain(ctx)
	return s.hooks.find(uid)
}

// maxTries bounds how often a request is evaluated again because its webhook was changed.
const maxTries = 5

// Receive handles a request to a webhook; the webhook is nil when no such webhook takes
// deliveries. handle ends with Accept or Reject; when these find that the webhook was
// changed meanwhile, handle is called again with the current webhook.
func (s *Triggers) Receive(ctx context.Context, uid string, handle func(*Hook) error) error {
	for range maxTries {
		if err := handle(s.Hook(ctx, uid)); !errors.Is(err, ErrStale) {
			return err
		}
		if err := s.RefreshHooks(ctx); err != nil {
			return err
		}
	}
	return lineshaft.Unavailable(nil, "the webhook is being changed; try again")
}

// lookAgain asks the database for changes, unless that was done just now.
func (s *Triggers) lookAgain(ctx context.Context) {
	last := s.hooks.missed.Load()
	now := time.Now().UnixNano() // a clock for pauses only
	if now-last < int64(missPoll) || !s.hooks.missed.CompareAndSwap(last, now) {
		return
	}
	if err := s.RefreshHooks(ctx); err != nil {
		s.Log.WarnContext(ctx, "refresh webhooks", "err", err)
	}
}

// checkCurrent says that a webhook was changed. It is for answers that are given
// without a transaction: a sender with the newest secret must not be turned away
// because of an old copy.
func (s *Triggers) checkCurrent(ctx context.Context, h *Hook) error {
	s.lookAgain(ctx)
	if s.hooks.find(h.UID) != h {
		return ErrStale
	}
	return nil
}

func (h *hooks) find(uid string) *Hook {
	live := h.live.Load()
	if live == nil {
		return nil
	}
	return (*live)[uid]
}

// FollowFactories keeps the copies of webhooks current until ctx ends.
func (s *Triggers) FollowFactories(ctx context.Context) {
	sub := s.Hub.Subscribe(stream.FactoriesTopic)
	defer sub.Close()
	s.Loop(ctx, "refresh webhooks", sub.C, nil, func(ctx context.Context) (time.Duration, error) { return hookPoll, s.RefreshHooks(ctx) })
}

// RefreshHooks brings the copies of webhooks up to date now.
func (s *Triggers) RefreshHooks(ctx context.Context) error {
	h := &s.hooks
	h.mu.Lock()
	defer h.mu.Unlock()
	newest, err := s.Store.FactoryRevisions(ctx)
	if err != nil {
		return err
	}
	changed := false
	for uid := range h.parts {
		if _, there := newest[uid]; !there {
			delete(h.parts, uid)
			delete(h.revisions, uid)
			changed = true
		}
	}
	for uid, revision := range newest {
		if have, there := h.revisions[uid]; there && have == revision {
			continue
		}
		part, err := s.factoryHooks(ctx, uid)
		if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
			continue // deleted just now; the next round sees it
		}
		if err != nil {
			return err
		}
		h.parts[uid], h.revisions[uid], changed = part, part.factory.Revision, true
	}
	if changed || h.live.Load() == nil {
		all := map[string]*Hook{}
		for _, part := range h.parts {
			maps.Copy(all, part.live)
		}
		h.live.Store(&all)
		h.chains.Store(newChainTable(h.parts))
		h.silent.Store(silentOf(h.parts))
	}
	return nil
}

// factoryCopy is a factory with its webhooks made ready.
type factoryCopy struct {
	factory     *lineshaft.Factory
	agents      []lineshaft.Agent
	automations []*HookAutomation
	follows     *lineshaft.GitSource
	live        map[string]*Hook
	silent      []SilentAutomation
}

// factoryHooks reads a factory and makes its enabled webhooks ready. The revision is
// read first: a change meanwhile then makes the copy look old, not new.
func (s *Triggers) factoryHooks(ctx context.Context, uid string) (*factoryCopy, error) {
	c, err := s.factoryAutomations(ctx, uid)
	if err != nil {
		return nil, err
	}
	webhooks, err := s.Store.ListWebhooks(ctx, uid)
	if err != nil {
		return nil, err
	}
	c.silent = silentIn(c, webhooks)
	for _, w := range webhooks {
		if !w.Enabled || w.NeedsSecret {
			continue
		}
		h, err := s.NewHook(c.factory, w, c.automations)
		if err != nil {
			// One that cannot be made ready must not take the others down.
			s.Log.LogAttrs(ctx, slog.LevelError, "webhook takes no deliveries", slog.String("webhook", w.UID), slog.Any("err", err))
			continue
		}
		h.follows = c.follows
		c.live[w.UID] = h
	}
	return c, nil
}

func (s *Triggers) factoryAutomations(ctx context.Context, uid string) (*factoryCopy, error) {
	f, err := s.Store.GetFactory(ctx, uid)
	if err != nil {
		return nil, err
	}
	agents, err := s.Store.ListAgents(ctx, uid)
	if err != nil {
		return nil, err
	}
	automations, err := s.Store.ListAutomations(ctx, uid)
	if err != nil {
		return nil, err
	}
	c := &factoryCopy{factory: f, agents: agents, live: map[string]*Hook{}}
	for _, a := range automations {
		c.automations = append(c.automations, s.NewHookAutomation(f, agents, a))
	}
	if f.Mode == lineshaft.ModeRepository {
		found, err := s.Store.Repositories(ctx, uid)
		if err != nil {
			return nil, err
		}
		if status, ok := found[uid]; ok {
			c.follows = &status.Source
		}
	}
	return c, nil
}

// LoadHook makes one webhook ready from the store, also a disabled or deleted one,
// for looking at its log and for redelivery.
func (s *Triggers) LoadHook(ctx context.Context, factoryUID, webhookUID string) (*Hook, error) {
	c, err := s.factoryAutomations(ctx, factoryUID)
	if err != nil {
		return nil, err
	}
	w, err := s.Store.GetWebhook(ctx, factoryUID, webhookUID)
	if err != nil {
		return nil, err
	}
	w.Credential, w.OldCredential = "", "" // nobody will be authenticated
	h, err := s.NewHook(c.factory, *w, c.automations)
	if err != nil {
		return nil, fmt.Errorf("make webhook ready: %w", err)
	}
	return h, nil
}

// SilentAutomation is an enabled automation that listens to webhooks that are gone.
type SilentAutomation struct {
	UID, Name, FactoryUID, FactoryName string
	// Gone are the webhooks, as the automation names them.
	Gone []string
}

// silentIn are the silent automations of a factory.
func silentIn(c *factoryCopy, webhooks []store.Webhook) []SilentAutomation {
	hooks := make([]lineshaft.Webhook, len(webhooks))
	for i, w := range webhooks {
		hooks[i] = w.Webhook
	}
	var found []SilentAutomation
	for _, a := range c.automations {
		var gone []string
		for _, t := range a.Triggers {
			gone = append(gone, GoneWebhooks(t, hooks)...)
		}
		if len(gone) > 0 && a.Enabled {
			found = append(found, SilentAutomation{UID: a.UID, Name: a.Name, FactoryUID: c.factory.UID, FactoryName: c.factory.Name, Gone: gone})
		}
	}
	return found
}

func silentOf(parts map[string]*factoryCopy) *[]SilentAutomation {
	var all []SilentAutomation
	for _, part := range parts {
		all = append(all, part.silent...)
	}
	slices.SortFunc(all, func(a, b SilentAutomation) int {
		return cmp.Or(strings.Compare(a.FactoryName, b.FactoryName), strings.Compare(a.Name, b.Name))
	})
	return &all
}

// SilentAutomations are those that listen to webhooks that are gone, by factory and name.
// They come with the copies of webhooks and cost no query.
func (s *Triggers) SilentAutomations() []SilentAutomation {
	if all := s.hooks.silent.Load(); all != nil {
		return *all
	}
	return nil
}

// GoneWebhooks are the webhooks that a trigger names and that are not among those of its
// factory any more, as it names them.
func GoneWebhooks(t lineshaft.Trigger, hooks []lineshaft.Webhook) []string {
	if !t.Delivered() {
		return nil
	}
	var gone []string
	for _, name := range t.Filter.Webhooks {
		if !slices.ContainsFunc(hooks, func(w lineshaft.Webhook) bool { return w.Name == name }) {
			gone = append(gone, name)
		}
	}
	for _, uid := range t.Filter.WebhookIDs {
		if !slices.ContainsFunc(hooks, func(w lineshaft.Webhook) bool { return w.UID == uid }) {
			gone = append(gone, uid)
		}
	}
	return gone
}
