package control_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/definition"
)

// refusedAt wants a definition to be refused for one reason, at one place.
func (b *bench) refusedAt(c lineshaft.Caller, uid string, files definition.Files, place, text string) {
	b.Helper()
	_, err := b.s.ApplyDefinition(b.Context(), c, uid, factories.Application{Files: files})
	b.refusal(err, place, text)
}

func (b *bench) refusal(err error, place, text string) {
	b.Helper()
	wantCode(b, err, lineshaft.CodeInvalidRequest)
	if err == nil || len(asPublic(err).Problems) != 1 {
		b.Fatal(tell(err))
	}
	p := asPublic(err).Problems[0]
	if at := fmt.Sprintf("%s:%d", p.File, p.Line); at != place || !strings.Contains(p.Message+"; "+p.Hint, text) {
		b.Errorf("%s; want %q at %s", tell(err), text, place)
	}
}

// An environment with secrets is a way to the team's secrets like their names.
func TestS3LimitedKeysNameNoNewEnvironments(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		uid := b.shopFactory()
		limited := b.caller(lineshaft.RoleManager, uid)
		rich := b.newEnvironment(lineshaft.EnvironmentConfig{Name: "rich", Secrets: []string{"TEAM_TOKEN"}}).UID
		poor := b.newEnvironment(lineshaft.EnvironmentConfig{Name: "poor"}).UID
		apply := func(c lineshaft.Caller, files definition.Files) {
			b.Helper()
			if _, err := b.s.ApplyDefinition(b.Context(), c, uid, factories.Application{Files: files}); err != nil {
				b.Fatal(tell(err))
			}
		}
		for _, layer := range []struct{ file, line, indent, place string }{
			{"factory.yaml", "  model: sonnet\n", "  ", "factory.yaml:7"},
			{"agents/reviewer/agent.md", "agentType: REVIEW # reviews\n", "", "agents/reviewer/agent.md:3"},
			{"automations/triage/automation.md", "agent: reviewer\n", "", "automations/triage/automation.md:4"},
		} {
			in := func(environment string) definition.Files {
				return replaced(shop(), layer.file, layer.line, layer.line+layer.indent+"environmentId: "+environment+"\n")
			}
			b.refusedAt(limited, uid, in(rich), layer.place, "limited to some factories")
			b.refusedAt(b.admin, uid, in("AAAAAAAAAAAAAAAAAAAAAA"), layer.place, "there is no environment")
			apply(limited, in(poor))
			apply(b.admin, in(rich))
			named := b.export(uid).Revision
			apply(limited, replaced(in(rich), "factory.yaml", "sonnet", "opus")) // it was there before
			apply(limited, shop())
			_, err := b.s.RollbackDefinition(b.Context(), limited, uid, named)
			b.refusal(err, layer.place, "limited to some factories")
		}
	})
}

// A definition waits for no runs that the key which applies it cannot see.
func TestS3DefinitionsWatchOnlyWhatTheKeySees(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		uid, other := b.shopFactory(), b.plain("other")
		limited := b.caller(lineshaft.RoleManager, uid)
		const file = "automations/after/automation.md"
		after := func(factory, more string) definition.Files {
			return with(shop(), file, "---\ntriggers:\n  - provider: run\n    event: finished\n    filter:\n      factories: ["+factory+"]\n"+more+"---\nLook at it.\n")
		}
		b.refusedAt(limited, uid, after(other, ""), file+":6", "that your key may see")
		b.refusedAt(b.admin, uid, after("AAAAAAAAAAAAAAAAAAAAAA", ""), file+":6", "that your key may see")
		b.refusedAt(b.admin, uid, after(uid, "concurrency:\n  key: \"{{payload.id}}\"\n"), file+":8", "no payload")
		wantCode(b, second(b.s.ApplyDefinition(b.Context(), limited, uid, factories.Application{Files: after(uid, "")})), "")
		b.refusedAt(limited, uid, after(other, ""), file+":6", "that your key may see")
		b.apply(uid, after(other, ""))
		same := replaced(after(other, ""), file, "Look at it.", "Look well.")
		wantCode(b, second(b.s.ApplyDefinition(b.Context(), limited, uid, factories.Application{Files: same})), "")
	})
}

func TestF4AgentsOfSchedulesStay(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		uid := b.shopFactory()
		const file = "agents/reviewer/agent.md"
		schedule := must[*lineshaft.Schedule](b)(b.s.CreateSchedule(b.Context(), b.admin, trigger.NewSchedule{
			Name: "weekly", Timing: lineshaft.Timing{Cron: "0 0 * * 0"}, Prompt: "p", AgentUID: b.uids(uid)["agent reviewer"],
		}))
		without := with(replaced(shop(), "automations/triage/automation.md", "agent: reviewer\n", ""), file, "")
		b.refusedAt(b.admin, uid, without, file+":0", "in use by schedule weekly; keep the agent's file")
		b.apply(uid, replaced(shop(), file, "You review.", "You review well."))
		wantCode(b, b.s.DeleteSchedule(b.Context(), b.admin, schedule.ID), "")
		b.apply(uid, without)
	})
}

// S-1: the key of a model is a secret that exists and is not a webhook's, like other
// secrets of runs.
func TestS1DefinitionNamesAModelKeyThatRunsMayHave(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		uid := b.shopFactory()
		b.apply(uid, shop())
		keyed := func(secret string) definition.Files {
			return with(shop(), "agents/reviewer/agent.md", "---\nagentType: REVIEW\nharness:\n  type: claude\n  auth:\n    source: managedSecret\n    secretName: "+secret+"\n---\nYou review.\n")
		}
		b.refusedAt(b.admin, uid, keyed("NOBODYS_KEY"), "agents/reviewer/agent.md:7", "there is no secret NOBODYS_KEY")
		must[factories.IssuedWebhook](b)(b.s.CreateWebhook(b.Context(), b.admin, b.factory("other", "").UID, factories.NewWebhook{Name: "w", SecretName: "HOOK_KEY"}))
		b.refusedAt(b.admin, uid, keyed("HOOK_KEY"), "agents/reviewer/agent.md:7", "HOOK_KEY")
		b.apply(uid, keyed("TEAM_TOKEN"))
	})
}
