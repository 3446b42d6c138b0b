package factories

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/definition"
	"github.com/lineshaft/lineshaft/internal/store"
)

// work is a definition on its way into a factory, in one transaction.
type work struct {
	s  *Factories
	c  lineshaft.Caller
	d  *definition.Definition
	at time.Time

	// What exists now.
	factory *lineshaft.Factory // locked
	parts   *factoryParts
	written *writtenFolder // its newest revision

	// What to do.
	changes  []definition.Change
	webhooks []webhookWork
	problems []lineshaft.FileProblem // of the folder alone, then of all

	bad     map[string]bool          // files with mistakes of their own
	secrets map[string]*store.Secret // those that the definition names; nil for none
}

// webhookWork is what to do with one webhook.
type webhookWork struct {
	was  *store.Webhook // nil for a new one
	next store.Webhook
}

// ApplyFiles makes a factory what a folder says, all or nothing, and records it. A
// factory that follows a repository takes it from there only.
func (s *Factories) ApplyFiles(ctx context.Context, c lineshaft.Caller, factoryUID string, files definition.Files, as RevisionNote) (Applied, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return Applied{}, err
	}
	if _, err := s.VisibleFactory(ctx, c, factoryUID); err != nil {
		return Applied{}, err
	}
	d, problems := definition.Parse(files)
	ahead, err := readFolder(ctx, s.Store, factoryUID)
	if err != nil {
		return Applied{}, err
	}
	var done Applied
	err = s.lockedFactory(ctx, c, factoryUID, func(ctx context.Context, tx *store.Tx, f *lineshaft.Factory) error {
		if as.guard != nil {
			if err := as.guard(ctx, tx); err != nil {
				return err
			}
		}
		if as.Source != lineshaft.RevisionRepository {
			if err := managed(ctx, tx, f); err != nil {
				return err
			}
		}
		w, err := s.prepare(ctx, tx, work{c: c, d: d, factory: f, problems: problems, written: ahead})
		if err != nil {
			return err
		}
		if current := w.revision(); as.ifRevision != 0 && as.ifRevision != current {
			return lineshaft.Conflict("the definition is now at revision %d, not at %d; check what changed, then apply again", current, as.ifRevision)
		}
		done, err = w.finish(ctx, tx, files, as)
		return err
	})
	return done, err
}

// prepare reads what exists, finds what differs and checks the definition against the
// server. It reports every mistake at once, with those of the folder alone.
func (s *Factories) prepare(ctx context.Context, tx *store.Tx, w work) (*work, error) {
	var err error
	if w.parts, err = readParts(ctx, tx, w.factory); err != nil {
		return nil, err
	}
	w.s, w.at = s, s.Now()
	if w.written, err = w.written.current(ctx, tx, w.factory.UID); err != nil {
		return nil, err
	}
	w.changes = definition.Compare(w.written.kept.Complete(w.parts.definition()), w.d)
	w.bad = badFiles(w.problems)
	if !w.d.Partial {
		if err := w.check(ctx, tx); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(w.problems, func(a, b lineshaft.FileProblem) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &w, mistakes(w.problems)
}

// badFiles are those that have mistakes of their own.
func badFiles(problems []lineshaft.FileProblem) map[string]bool {
	bad := map[string]bool{}
	for _, p := range problems {
		bad[p.File] = true
	}
	return bad
}

// revision is the number of the definition in force. The factory's own has grown
// already, for this transaction.
func (w *work) revision() int64 { return definitionRevision(w.written.last, w.factory.Revision-1) }

func (w *work) told() Plan {
	return Plan{Revision: w.revision(), Changes: w.changes, Unused: w.d.Unused, Notices: w.d.Notices}
}

// finish writes what differs and records it. errUnchanged says that nothing does.
func (w *work) finish(ctx context.Context, tx *store.Tx, files definition.Files, as RevisionNote) (Applied, error) {
	done := Applied{Revision: w.revision(), Changes: w.changes, Unused: w.d.Unused, Notices: w.d.Notices}
	recorded := w.written.last != nil && maps.Equal(w.written.texts, files)
	fresh := w.freshCredentials()
	if len(w.changes) == 0 && fresh == 0 && recorded {
		return done, errUnchanged
	}
	if err := w.write(ctx, tx); err != nil {
		return done, err
	}
	done.Changed = true
	if !recorded {
		done.Revision = w.factory.Revision
		if err := w.s.recordRevision(ctx, tx, w.c, w.factory, w.written.last, files, as); err != nil {
			return done, err
		}
	}
	return done, w.audit(ctx, tx, done.Revision, fresh, as)
}

// audit records the apply: how many parts, and which as far as a line has room.
func (w *work) audit(ctx context.Context, tx *store.Tx, revision int64, fresh int, as RevisionNote) error {
	counts := map[definition.Action]int{}
	var parts []string
	for _, change := range w.changes {
		counts[change.Action]++
		parts = append(parts, fmt.Sprintf("%s %s %s", change.Action, change.Kind, change.Name))
	}
	detail := map[string]string{
		"revision": strconv.FormatInt(revision, 10), "added": strconv.Itoa(counts[definition.ActionAdd]),
		"changed": strconv.Itoa(counts[definition.ActionChange]), "removed": strconv.Itoa(counts[definition.ActionRemove]),
		"parts": lineshaft.Clip(strings.Join(parts, ", "), 1000),
	}
	if fresh > 0 {
		detail["credentials"] = strconv.Itoa(fresh)
	}
	for name, text := range map[string]string{"comment": as.Comment, "commit": as.Commit} {
		if text != "" {
			detail[name] = lineshaft.Clip(text, 200)
		}
	}
	action := "definition.apply"
	if as.Source == lineshaft.RevisionRollback {
		action = "definition.rollback"
	}
	return w.s.Audit(ctx, tx, w.c, action, "factory", w.factory.UID, detail)
}

func (w *work) of(kind definition.Kind) []definition.Change {
	return slices.DeleteFunc(slices.Clone(w.changes), func(c definition.Change) bool { return c.Kind != kind })
}

// write makes the factory what the definition says, touching only what differs.
func (w *work) write(ctx context.Context, tx *store.Tx) error {
	return inOrder(ctx, tx, w.writeWebhooks, w.writeAgents, w.writeAutomations, w.writeRunners, w.writeSkills, w.writeFactory)
}

// inOrder does steps until one fails.
func inOrder(ctx context.Context, tx *store.Tx, steps ...func(context.Context, *store.Tx) error) error {
	for _, step := range steps {
		if err := step(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

func (w *work) writeFactory(ctx context.Context, tx *store.Tx) error {
	if len(w.of(definition.KindFactory)) == 0 && w.factory.Foreman == w.d.Factory.Foreman {
		return nil
	}
	f, wanted := w.factory, w.d.Factory
	f.Name, f.Alias, f.Description, f.Defaults = wanted.Name, wanted.Alias, wanted.Description, wanted.Defaults
	f.Secrets, f.MCPServers, f.Repositories, f.Foreman = wanted.Secrets, wanted.MCPServers, wanted.Repositories, wanted.Foreman
	return aliasConflict(tx.UpdateFactory(ctx, *f), f.Alias)
}

func (w *work) writeAgents(ctx context.Context, tx *store.Tx) error {
	identity := func(a *lineshaft.Agent) identity { return identity{&a.UID, &a.FactoryUID, &a.CreatedAt, &a.UpdatedAt} }
	return writeParts(w, definition.KindAgent, w.parts.agents, w.d.Agents, agentName, identity,
		func(uid string) error { return tx.DeleteAgent(ctx, uid) }, func(a lineshaft.Agent) error { return tx.PutAgent(ctx, a) })
}

func (w *work) writeAutomations(ctx context.Context, tx *store.Tx) error {
	identity := func(a *lineshaft.Automation) identity {
		return identity{&a.UID, &a.FactoryUID, &a.CreatedAt, &a.UpdatedAt}
	}
	return writeParts(w, definition.KindAutomation, w.parts.automations, w.d.Automations, trigger.AutomationName, identity,
		func(uid string) error { return tx.DeleteAutomation(ctx, w.factory.UID, uid) }, func(a lineshaft.Automation) error {
			if err := tx.PutPrincipal(ctx, trigger.AutomationPrincipal(a.UID, a.Name), a.CreatedAt); err != nil {
				return err
			}
			return tx.PutAutomation(ctx, a)
		})
}

func (w *work) writeRunners(ctx context.Context, tx *store.Tx) error {
	identity := func(r *lineshaft.Runner) identity { return identity{&r.UID, &r.FactoryUID, &r.CreatedAt, &r.UpdatedAt} }
	return writeParts(w, definition.KindRunner, w.parts.runners, w.d.Runners, runnerName, identity,
		func(uid string) error { return tx.DeleteRunner(ctx, uid) }, func(r lineshaft.Runner) error { return tx.PutRunner(ctx, r) })
}

// identity is what a part has that no folder says.
type identity struct {
	uid, factory     *string
	created, updated *time.Time
}

// writeParts removes, adds and changes the parts of a kind. One that stays keeps its uid.
func writeParts[T any](w *work, kind definition.Kind, there, wanted []T, nameOf func(T) string, of func(*T) identity,
	remove func(uid string) error, put func(T) error,
) error {
	for _, change := range w.of(kind) {
		was, found := base.Named(there, change.Name, nameOf)
		before := of(&was)
		if change.Action == definition.ActionRemove {
			if err := remove(*before.uid); err != nil {
				return err
			}
			continue
		}
		next, _ := base.Named(wanted, change.Name, nameOf)
		after := of(&next)
		*after.factory, *after.updated = w.factory.UID, w.at
		if *after.uid, *after.created = *before.uid, *before.created; !found {
			*after.uid, *after.created = w.s.Store.NewID()
		}
		if err := put(next); err != nil {
			return err
		}
	}
	return nil
}

func (w *work) writeSkills(ctx context.Context, tx *store.Tx) error {
	if len(w.of(definition.KindSkill)) == 0 {
		return nil
	}
	return tx.ReplaceSkills(ctx, w.factory.UID, w.d.Skills)
}

func agentName(a lineshaft.Agent) string     { return a.Name }
func runnerName(r lineshaft.Runner) string   { return r.Name }
func webhookName(w lineshaft.Webhook) string { return w.Name }
func storedName(w store.Webhook) string      { return w.Name }
