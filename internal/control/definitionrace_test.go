package control_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/definition"
)

// half is one of two folders that share their webhook and nothing else.
func half(name string) definition.Files {
	files := definition.Files{
		"factory.yaml":            "schemaVersion: v1alpha1\nname: Half " + name + "\n",
		"agents/foreman/agent.md": "---\nagentType: FOREMAN\ndescription: of " + name + "\n---\nForeman " + name + "\n",
		"webhooks/issues.yaml":    "secretName: ISSUES\nrateLimit: 0\n",
	}
	for i := range 5 {
		part := fmt.Sprintf("%s%d", name, i)
		files["agents/"+part+"/agent.md"] = "---\n---\nYou are " + part + ".\n"
		files["runners/"+part+".yaml"] = "description: " + part + "\n"
		files["skills/"+part+"/SKILL.md"] = "---\nname: " + part + "\ndescription: d\n---\nSkill.\n"
		files["automations/"+part+"/automation.md"] = "---\nagent: " + part + "\ntriggers:\n  - provider: webhook\n    event: received\n    filter:\n      webhooks: [issues]\n---\nWork of " + part + "\n"
	}
	return files
}

// Applies at the same time come one after the other: the factory is always one of the
// two folders, whole, and so is every revision.
func TestF4AppliesAtOnceNeverMix(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.teamSecret("ISSUES", issuesSecret)
		uid, nodes := w.plain("plain"), []*works{w, w}
		if w.store.Engine() == "postgres" {
			nodes[1] = w.node()
		}
		w.apply(uid, half("a"))
		folders := []definition.Files{half("a"), half("b")}
		whole := func(files definition.Files) bool {
			return maps.Equal(files, folders[0]) || maps.Equal(files, folders[1])
		}
		// exported is a folder, whole, and what the revision that it names keeps.
		exported := func() {
			out, err := w.s.ExportDefinition(w.Context(), w.admin, uid)
			if lineshaft.CodeOf(err) == lineshaft.CodeUnavailable {
				return // changed at every try
			}
			if err != nil || !whole(out.Files) {
				w.Errorf("a mix was exported: %v\n%v", err, out.Files)
				return
			}
			r, err := w.s.GetRevision(w.Context(), w.admin, uid, out.Revision)
			if err != nil || !maps.Equal(r.Texts, out.Files) {
				w.Errorf("the export names revision %d, which says something else: %v", out.Revision, err)
			}
		}
		for range rounds(30) {
			var applied atomic.Int32
			together(4, func(who int) {
				if who >= 2 {
					for applied.Load() < 2 {
						exported()
					}
					return
				}
				defer applied.Add(1)
				if _, err := nodes[who].s.ApplyDefinition(w.Context(), w.admin, uid, factories.Application{Files: folders[who]}); err != nil {
					w.Error(tell(err))
				}
			})
			if out := w.export(uid); !whole(out.Files) {
				w.Fatalf("a mix is in force: %v", out.Files)
			}
		}
		for number := w.export(uid).Revision; number >= 2; number-- {
			r := must[factories.RevisionDetail](w.bench)(w.s.GetRevision(w.Context(), w.admin, uid, number))
			if !whole(r.Texts) {
				w.Errorf("revision %d is a mix", number)
			}
		}
	})
}

// A delivery that comes while a definition is applied is evaluated by the one before
// or by the one after.
func TestF4DeliveriesMeetOneRevision(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.teamSecret("ISSUES", issuesSecret)
		w.factory = w.plain("plain")
		w.apply(w.factory, half("a"))
		w.hook.UID = w.webhookUID(w.factory, "issues")
		const applies, senders = 12, 4
		var wg sync.WaitGroup
		done := make(chan struct{})
		for sender := range senders {
			wg.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-done:
						return
					default:
					}
					h := w.s.Hook(w.Context(), w.hook.UID)
					_, err := w.s.Accept(w.Context(), received(h, fmt.Sprintf("%d-%d", sender, i), opened))
					if err != nil && !strings.Contains(err.Error(), trigger.ErrStale.Error()) {
						w.Error(err)
						return
					}
					if err != nil {
						_ = w.s.RefreshHooks(w.Context()) // as the ingress does, which begins again
					}
				}
			})
		}
		for i := range applies {
			w.apply(w.factory, half([]string{"b", "a"}[i%2]))
		}
		close(done)
		wg.Wait()
		seen := map[string]int{}
		for _, d := range w.log() {
			first := d.Outcomes[0].AutomationName[:1]
			seen[first]++
			if len(d.Outcomes) != 5 || d.NotMatched != 0 {
				w.Errorf("%+v", d)
			}
			for _, o := range d.Outcomes {
				if o.AutomationName[:1] != first || o.Result != lineshaft.ResultStarted {
					w.Errorf("delivery %s met a mix: %+v", d.ID, d.Outcomes)
				}
			}
		}
		w.Logf("deliveries by definition: %v", seen)
	})
}
