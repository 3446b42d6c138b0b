package control_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/notify"
	"github.com/lineshaft/lineshaft/internal/control/overview"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/control/skills"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

// With the store away every call says so. "Not found" would make a client forget
// its run, "not authenticated" its key, and "conflict" would end an agent.
func TestH5StoreAwayIsUnavailable(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID, job := b.working(lineshaft.NewRun{})
		must[string](b)(b.s.Upload(b.Context(), job.ExecutionRef, lineshaft.Upload{Kind: lineshaft.BlobArtifact, FileName: "f"}, strings.NewReader("x")))
		run := b.run(runID)
		session := must[string](b)(b.s.CreateSession(b.Context(), adminKey, access.Visitor{}))
		if err := b.store.Close(); err != nil {
			b.Fatal(err)
		}
		b.clock.advance(time.Minute) // what is in memory is old
		for name, call := range awayCalls(b, run, job, session) {
			err := call()
			if err == nil || lineshaft.CodeOf(err) != lineshaft.CodeUnavailable {
				b.Errorf("%s: %v", name, err)
			}
		}
	}, localGit(t), func(cfg *base.Config) { cfg.Callbacks = &receiver{} })
}

// takesStoreType says that a method is for other rooms: transports know no such type.
func takesStoreType(method reflect.Type) bool {
	for i := range method.NumIn() {
		kind := method.In(i)
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if strings.HasSuffix(kind.PkgPath(), "/internal/store") {
			return true
		}
	}
	return false
}

// No method is forgotten here.
func TestH5EveryMethodIsTriedWithoutStore(t *testing.T) {
	t.Parallel()
	// These do not touch the store, answer with the problem as data, or only wait.
	known := []string{"Receive", "CheckRate", "AddPart", "AddMinorPart", "Ready", "SignDownload", "OpenDownload", "Directives", "Hook", "FollowFactories", "RefuseWebhookRuns", "SkillsWanted", "FollowChains", "FollowRepositories", "Remote", "ServerState", "IdentitySessionLife", "FollowNotifications", "SendCallbacks", "CallbackBacklog", "Turn", "Work", "Rest"}
	run := &lineshaft.Run{Artifacts: make([]lineshaft.Artifact, 1)}
	for name := range awayCalls(&bench{T: t, clock: &clock{}}, run, lineshaft.Job{}, "") {
		name, _, _ = strings.Cut(name, " ")
		known = append(known, strings.TrimSuffix(name, ","))
	}
	service := reflect.TypeFor[*control.Service]()
	for i := range service.NumMethod() {
		method := service.Method(i)
		if !slices.Contains(known, method.Name) && !slices.Contains(betweenRooms(), method.Name) && !takesStoreType(method.Type) {
			t.Errorf("%s is not tried", method.Name)
		}
	}
}

func awayCalls(b *bench, run *lineshaft.Run, job lineshaft.Job, session string) map[string]func() error {
	ctx, s, c := b.Context(), b.s, b.admin
	limited := lineshaft.Caller{Role: lineshaft.RoleRun, RunID: run.ID, KeyID: job.ExecutionID}
	calls := map[string]func() error{
		"Recheck":               func() error { return s.Recheck(ctx, c) },
		"Recheck, run":          func() error { return s.Recheck(ctx, limited) },
		"Interrupt":             func() error { return s.Interrupt(ctx, c, run.ID) },
		"DeleteRun":             func() error { return s.DeleteRun(ctx, c, run.ID) },
		"RevokeAPIKey":          func() error { return s.RevokeAPIKey(ctx, c, c.KeyID) },
		"EndSession":            func() error { return s.EndSession(ctx, session) },
		"ForgetWorker":          func() error { return s.ForgetWorker(ctx, "w-hosted") },
		"Purge":                 func() error { return s.Purge(ctx) },
		"RemoveDeleted":         func() error { return s.RemoveDeleted(ctx) },
		"NoteKeyUse":            func() error { return s.NoteKeyUse(ctx) },
		"CreateAPIKey":          func() error { _, _, err := s.CreateAPIKey(ctx, c, keyRequest()); return err },
		"RunBySession":          func() error { _, _, err := s.RunBySession(ctx, run.SessionID); return err },
		"SessionByConversation": func() error { _, _, err := s.SessionByConversation(ctx, run.ConversationID); return err },
		"StartRun":              func() error { _, err := s.StartRun(ctx, c, doIt(), nil); return err },
		"StartRun again":        func() error { _, err := s.StartRun(ctx, c, doIt(), idem("k", "1")); return err },
		"child":                 func() error { _, err := s.StartRun(ctx, limited, doIt(), nil); return err },
	}
	one := func(name string, call func() (any, error)) {
		calls[name] = func() error { _, err := call(); return err }
	}
	moreCalls(b, job, one)
	sessionCalls(b, session, one)
	reportCalls(b, limited, run.ID, one)
	list := lineshaft.RunQuery{Sort: lineshaft.SortUpdated, Limit: 5}
	one("GetRun", func() (any, error) { return s.GetRun(ctx, c, run.ID) })
	one("ExplainRun", func() (any, error) { return s.ExplainRun(ctx, c, run.ID) })
	one("ListRuns", func() (any, error) { return s.ListRuns(ctx, c, list) })
	one("RunByConversation", func() (any, error) { return s.RunByConversation(ctx, c, run.ConversationID) })
	one("RunByReference", func() (any, error) { return s.RunByReference(ctx, c, "https://example.com") })
	one("Rerun", func() (any, error) { return s.Rerun(ctx, c, run.ID, lineshaft.SourceAPI, nil) })
	one("Events", func() (any, error) { return s.Events(ctx, c, run.ID, 0, 5) })
	one("LastMessages", func() (any, error) { return s.LastMessages(ctx, c, run.ID, 5) })
	one("Follow", func() (any, error) { return s.Follow(ctx, c, run.ID, 0) })
	one("FollowStates", func() (any, error) { return s.FollowStates(ctx, c, lineshaft.RunFilter{}, "") })
	one("Transcript", func() (any, error) { return s.Transcript(ctx, run.ID, 0, 5) })
	one("Artifact", func() (any, error) { return s.Artifact(ctx, c, run.Artifacts[0].UID) })
	one("ArtifactByLink", func() (any, error) { return s.ArtifactByLink(ctx, run.Artifacts[0].UID) })
	one("OpenBlob", func() (any, error) { return s.OpenBlob(ctx, run.Artifacts[0].BlobID) })
	one("Attachments", func() (any, error) { return s.Attachments(ctx, c, run.ID) })
	one("Followup", func() (any, error) {
		return s.Followup(ctx, c, lineshaft.NewFollowup{RunID: run.ID, Message: "x"}, nil)
	})
	one("Cancel", func() (any, error) { return s.Cancel(ctx, c, run.ID, true, nil) })
	one("CancelMatching", func() (any, error) { return s.CancelMatching(ctx, c, lineshaft.RunFilter{}) })
	one("Claim", func() (any, error) {
		return s.Claim(ctx, lineshaft.ClaimRequest{WorkerHost: "hosted", WorkerID: "w", Limit: 1})
	})
	one("Heartbeat", func() (any, error) { return s.Heartbeat(ctx, "w-hosted", []lineshaft.ExecutionRef{job.ExecutionRef}) })
	one("Heartbeat, idle", func() (any, error) { return s.Heartbeat(ctx, "w-hosted", nil) })
	one("Report", func() (any, error) {
		return s.Report(ctx, []lineshaft.Report{{ExecutionRef: job.ExecutionRef, First: 1}})
	})
	one("EndTurn", func() (any, error) {
		return s.EndTurn(ctx, job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Succeeded})
	})
	one("Upload", func() (any, error) {
		return s.Upload(ctx, job.ExecutionRef, lineshaft.Upload{Kind: lineshaft.BlobSnapshot}, strings.NewReader("x"))
	})
	one("Download", func() (any, error) { return s.Download(ctx, job.ExecutionRef, run.Artifacts[0].BlobID) })
	one("Workers", func() (any, error) { return s.Workers(ctx, c) })
	one("Authenticate", func() (any, error) { return s.Authenticate(ctx, adminKey) })
	one("Authenticate run", func() (any, error) { return s.Authenticate(ctx, job.RunToken) })
	one("EnsureAdmin", func() (any, error) { return s.EnsureAdmin(ctx, "") })
	one("EnsureAdmin chosen", func() (any, error) { return s.EnsureAdmin(ctx, adminKey) })
	one("ListAPIKeys", func() (any, error) { return s.ListAPIKeys(ctx, c, 1, "") })
	one("RunChains", func() (any, error) { return s.RunChains(ctx) })
	awayPlatformCalls(b, one)
	awayJobCalls(b, one)
	awaySkillCalls(b, one)
	awayEnvironmentCalls(b, one)
	awayFactoryCalls(b, one)
	awayScheduleCalls(b, one)
	awayAgentCalls(b, one)
	awayWebhookCalls(b, one)
	return calls
}

func awayPlatformCalls(b *bench, one func(name string, call func() (any, error))) {
	awayNotificationCalls(b, one)
	ctx, s, c := b.Context(), b.s, b.admin
	one("ListConversation", func() (any, error) {
		runs, _, err := s.ListConversation(ctx, c, factoryF, "", 1)
		return runs, err
	})
	one("ListAudit", func() (any, error) { return s.ListAudit(ctx, c, access.AuditQuery{Limit: 5}) })
	one("GetAPIKey", func() (any, error) { return s.GetAPIKey(ctx, c, factoryF) })
	one("WaitingWorkers", func() (any, error) { return s.WaitingWorkers(ctx, c) })
	one("EnvironmentUses", func() (any, error) {
		return s.EnvironmentUses(ctx, c, strings.Repeat("e", lineshaft.EnvironmentIDLength))
	})
	one("SecretUses", func() (any, error) { return s.SecretUses(ctx, c, "S") })
}

func awaySkillCalls(b *bench, one func(name string, call func() (any, error))) {
	const someID = "01890000-0000-7000-8000-000000000000"
	one("RunsByID", func() (any, error) { return b.s.RunsByID(b.Context(), b.admin, []string{someID}) })
	one("Search", func() (any, error) { return b.s.Search(b.Context(), b.admin, "words") })
	one("Search, id", func() (any, error) { return b.s.Search(b.Context(), b.admin, someID) })
	one("FindSkills", func() (any, error) { return b.s.FindSkills(b.Context()) })
	one("ListSkills", func() (any, error) { return b.s.ListSkills(b.Context(), b.admin, skills.SkillQuery{}) })
}

func awayNotificationCalls(b *bench, one func(name string, call func() (any, error))) {
	ctx, s, c := b.Context(), b.s, b.admin
	one("CreateNotification", func() (any, error) {
		return s.CreateNotification(ctx, c, notify.NewNotification{URL: "https://example.com"})
	})
	one("GetNotification", func() (any, error) { return s.GetNotification(ctx, c, "n") })
	one("ListNotifications", func() (any, error) { return s.ListNotifications(ctx, c) })
	one("UpdateNotification", func() (any, error) { return s.UpdateNotification(ctx, c, "n", notify.NotificationChange{}) })
	one("RotateNotification", func() (any, error) { return s.RotateNotification(ctx, c, "n", notify.NotificationRotation{}) })
	one("DeleteNotification", func() (any, error) { return nil, s.DeleteNotification(ctx, c, "n") })
	one("TestNotification", func() (any, error) { return s.TestNotification(ctx, c, "n") })
	one("ListNotificationDeliveries", func() (any, error) {
		return s.ListNotificationDeliveries(ctx, c, "n", notify.NotificationDeliveryQuery{Limit: 5})
	})
	one("GetNotificationDelivery", func() (any, error) { return s.GetNotificationDelivery(ctx, c, "n", "d") })
	one("ReplayNotificationDelivery", func() (any, error) { return s.ReplayNotificationDelivery(ctx, c, "n", "d") })
	one("PurgeNotifications", func() (any, error) { return nil, s.PurgeNotifications(ctx) })
	one("WatchCallbacks", func() (any, error) { return nil, s.WatchCallbacks(ctx) })
	one("FanOut", func() (any, error) { return s.FanOut(ctx) })
	one("SendDue", func() (any, error) { return s.SendDue(ctx) })
}

func awayEnvironmentCalls(b *bench, one func(name string, call func() (any, error))) {
	ctx, s, c, uid, config := b.Context(), b.s, b.admin, strings.Repeat("e", lineshaft.EnvironmentIDLength), lineshaft.EnvironmentConfig{Name: "e"}
	one("CreateEnvironment", func() (any, error) { return s.CreateEnvironment(ctx, c, config) })
	one("GetEnvironment", func() (any, error) { return s.GetEnvironment(ctx, c, uid) })
	one("EnvironmentStarts", func() (any, error) { return s.EnvironmentStarts(ctx, c, uid) })
	one("ListEnvironments", func() (any, error) { return s.ListEnvironments(ctx, c, "") })
	one("UpdateEnvironment", func() (any, error) { return s.UpdateEnvironment(ctx, c, uid, config) })
	one("DeleteEnvironment", func() (any, error) { return nil, s.DeleteEnvironment(ctx, c, uid) })
}

func awayFactoryCalls(b *bench, one func(name string, call func() (any, error))) {
	awayDefinitionCalls(b, one)
	awayDeliveryCalls(b, one)
	ctx, s, c := b.Context(), b.s, b.admin
	one("CreateFactory", func() (any, error) { return s.CreateFactory(ctx, c, factories.NewFactory{Name: "f"}) })
	one("SpentToday", func() (any, error) { return s.SpentToday(ctx, c, []lineshaft.Factory{{UID: "f"}}) })
	one("GetFactory", func() (any, error) { return s.GetFactory(ctx, c, "f") })
	one("ListFactories", func() (any, error) { return s.ListFactories(ctx, c, factories.FactoryQuery{Limit: 5}) })
	one("UpdateFactory", func() (any, error) { return s.UpdateFactory(ctx, c, "f", factories.FactoryChange{}) })
	one("DeleteFactory", func() (any, error) { return nil, s.DeleteFactory(ctx, c, "f") })
	one("CountRuns", func() (any, error) {
		return s.CountRuns(ctx, c, []lineshaft.Factory{{UID: "f"}}, lineshaft.RunFilter{})
	})
	one("CountParts", func() (any, error) { return s.CountParts(ctx, c, []lineshaft.Factory{{UID: "f"}}) })
	one("BacktestAutomation", func() (any, error) { return s.BacktestAutomation(ctx, c, "f", "", lineshaft.Automation{}) })
	one("SyncRepositories", func() (any, error) { return s.SyncRepositories(ctx) })
	one("SyncRepository", func() (any, error) { return s.SyncRepository(ctx, c, "f") })
	one("CreateAutomation", func() (any, error) { return s.CreateAutomation(ctx, c, "f", automation("a", "w")) })
	one("GetAutomation", func() (any, error) { return s.GetAutomation(ctx, c, "f", "a") })
	one("ListAutomations", func() (any, error) { return s.ListAutomations(ctx, c, "f", 5, "") })
	one("AllAutomations", func() (any, error) { return s.AllAutomations(ctx, c, 5, "") })
	one("UpdateAutomation", func() (any, error) { return s.UpdateAutomation(ctx, c, "f", "a", factories.AutomationChange{}) })
	one("DeleteAutomation", func() (any, error) { return nil, s.DeleteAutomation(ctx, c, "f", "a") })
}

func awayScheduleCalls(b *bench, one func(name string, call func() (any, error))) {
	ctx, s, c := b.Context(), b.s, b.admin
	one("CreateSchedule", func() (any, error) { return s.CreateSchedule(ctx, c, daily("s")) })
	one("GetSchedule", func() (any, error) { return s.GetSchedule(ctx, c, "s") })
	one("ListSchedules", func() (any, error) { return s.ListSchedules(ctx, c, "", 1, "") })
	one("UpdateSchedule", func() (any, error) { return s.UpdateSchedule(ctx, c, "s", daily("s")) })
	one("SetScheduleEnabled", func() (any, error) { return s.SetScheduleEnabled(ctx, c, "s", true) })
	one("DeleteSchedule", func() (any, error) { return nil, s.DeleteSchedule(ctx, c, "s") })
	one("ListTimed", func() (any, error) { return s.ListTimed(ctx, c) })
	one("NewestScheduled", func() (any, error) { return s.NewestScheduled(ctx, c, []string{"s"}) })
	one("PreviewFires", func() (any, error) { return s.PreviewFires(ctx, c, lineshaft.Timing{Cron: "@daily"}, 3) })
	one("FireDue", func() (any, error) { return s.FireDue(ctx) })
}

func awayDefinitionCalls(b *bench, one func(name string, call func() (any, error))) {
	ctx, s, c := b.Context(), b.s, b.admin
	one("ValidateDefinition", func() (any, error) { return s.ValidateDefinition(ctx, c, "f", shop()) })
	one("PlanDefinition", func() (any, error) { return s.PlanDefinition(ctx, c, "f", shop()) })
	one("PlanNewFactory", func() (any, error) { return s.PlanNewFactory(ctx, c, shop()) })
	one("DriftDefinition", func() (any, error) { return s.DriftDefinition(ctx, c, "f", shop()) })
	one("ApplyFiles", func() (any, error) { return s.ApplyFiles(ctx, c, "f", shop(), factories.RevisionNote{}) })
	one("ApplyDefinition", func() (any, error) {
		return s.ApplyDefinition(ctx, c, "f", factories.Application{Files: shop()})
	})
	one("ExportDefinition", func() (any, error) { return s.ExportDefinition(ctx, c, "f") })
	one("ListRevisions", func() (any, error) { return s.ListRevisions(ctx, c, "f", 5, "") })
	one("GetRevision", func() (any, error) { return s.GetRevision(ctx, c, "f", 1) })
	one("RollbackDefinition", func() (any, error) { return s.RollbackDefinition(ctx, c, "f", 1) })
}

func awayAgentCalls(b *bench, one func(name string, call func() (any, error))) {
	ctx, s, c := b.Context(), b.s, b.admin
	one("CreateAgent", func() (any, error) { return s.CreateAgent(ctx, c, lineshaft.Agent{Name: "a"}) })
	one("CreateAgent of a factory", func() (any, error) { return s.CreateAgent(ctx, c, lineshaft.Agent{FactoryUID: "f", Name: "a"}) })
	one("GetAgent", func() (any, error) { return s.GetAgent(ctx, c, factoryF) })
	one("ListPartNames", func() (any, error) { return s.ListPartNames(ctx, c, "webhook") })
	one("FindAgents", func() (any, error) { return s.FindAgents(ctx, c, "", "a") })
	one("ListAgents", func() (any, error) { return s.ListAgents(ctx, c, "", 1, "") })
	one("ListAgents of a factory", func() (any, error) { return s.ListAgents(ctx, c, "f", 1, "") })
	one("UpdateAgent", func() (any, error) { return s.UpdateAgent(ctx, c, factoryF, factories.AgentChange{}) })
	one("DeleteAgent", func() (any, error) { return nil, s.DeleteAgent(ctx, c, factoryF) })
	one("DispatchRun", func() (any, error) { return s.DispatchRun(ctx, c, "f", factories.Dispatch{Prompt: "x"}, nil) })
	one("StartRun of an agent", func() (any, error) {
		return s.StartRun(ctx, c, lineshaft.NewRun{Prompt: "x", AgentUID: factoryF}, nil)
	})
}

func awayDeliveryCalls(b *bench, one func(name string, call func() (any, error))) {
	ctx, s, c, h := b.Context(), b.s, b.admin, &trigger.Hook{}
	one("Accept", func() (any, error) { return s.Accept(ctx, received(h, "1", "{}")) })
	one("Reject", func() (any, error) { return nil, s.Reject(ctx, trigger.Rejected{Hook: h}) })
	one("RefreshHooks", func() (any, error) { return nil, s.RefreshHooks(ctx) })
	one("Listeners", func() (any, error) { return s.Listeners(ctx, c, "f", "w") })
	one("LastDeliveries", func() (any, error) { return s.LastDeliveries(ctx, c, []lineshaft.Factory{{UID: "f"}}) })
	one("WebhooksOf", func() (any, error) { return s.WebhooksOf(ctx, c, []lineshaft.Factory{{UID: "f"}}) })
	one("LastRuns", func() (any, error) { return s.LastRuns(ctx, c, []lineshaft.Automation{{UID: "a"}}) })
	one("ListDeliveries", func() (any, error) { return s.ListDeliveries(ctx, c, "f", "w", trigger.DeliveryQuery{Limit: 5}) })
	one("ListAllDeliveries", func() (any, error) { return s.ListAllDeliveries(ctx, c, trigger.LogQuery{Limit: 5}) })
	one("DeliveryVolume", func() (any, error) { return s.DeliveryVolume(ctx, c, trigger.VolumeQuery{Bar: time.Hour, Bars: 2}) })
	one("GetDelivery", func() (any, error) { return s.GetDelivery(ctx, c, "f", "w", "d", true) })
	one("Redeliver", func() (any, error) { return s.Redeliver(ctx, c, trigger.Redelivery{}, nil) })
	one("SignTestEvent", func() (any, error) {
		return s.SignTestEvent(ctx, c, trigger.TestEvent{FactoryUID: "f", WebhookUID: "w"})
	})
	one("TestFilter", func() (any, error) { return s.TestFilter(ctx, c, "f", factories.FilterTest{DeliveryID: "d"}) })
	one("PurgeDeliveries", func() (any, error) { return nil, s.PurgeDeliveries(ctx) })
}

func keyRequest() access.NewAPIKey { return access.NewAPIKey{Name: "n", Role: lineshaft.RoleViewer} }

func secretCalls(b *bench, one func(name string, call func() (any, error))) {
	ctx, s, c, text := b.Context(), b.s, b.admin, "a value of these tests"
	one("CreateSecret", func() (any, error) { return s.CreateSecret(ctx, c, lineshaft.Secret{Name: "A"}, text) })
	one("UpdateSecret", func() (any, error) { return s.UpdateSecret(ctx, c, "A", secrets.SecretChange{Value: &text}) })
	one("GetSecret", func() (any, error) { return s.GetSecret(ctx, c, "A") })
	one("ListSecrets", func() (any, error) { return s.ListSecrets(ctx, c, "", 5, "") })
	one("RewrapSecrets", func() (any, error) { return s.RewrapSecrets(ctx) })
	one("DeleteSecret", func() (any, error) { return nil, s.DeleteSecret(ctx, c, "A") })
}

// awayJobCalls are the rounds of work that nobody waits for.
func awayJobCalls(b *bench, one func(string, func() (any, error))) {
	ctx, s := b.Context(), b.s
	one("ReapLeases", func() (any, error) { return s.ReapLeases(ctx) })
	one("EndOverdue", func() (any, error) { return s.EndOverdue(ctx) })
	one("RunChains", func() (any, error) { return s.RunChains(ctx) })
	one("SettleRuns", func() (any, error) { return s.SettleRuns(ctx) })
	one("SettleDeliveries", func() (any, error) { return s.SettleDeliveries(ctx) })
	one("FoldRates", func() (any, error) { return s.FoldRates(ctx) })
	one("PurgeRates", func() (any, error) { return nil, s.PurgeRates(ctx) })
	one("Costs", func() (any, error) { return s.Costs(ctx, b.admin, 7, "") })
	one("CountActive", func() (any, error) { return s.CountActive(ctx, b.admin, 1) })
	one("Overview", func() (any, error) { return s.Overview(ctx, b.admin, overview.LastDay, "") })
}

// reportCalls are those of an agent about its own run.
func reportCalls(b *bench, agent lineshaft.Caller, runID string, one func(string, func() (any, error))) {
	one("FindEvents", func() (any, error) {
		return b.s.FindEvents(b.Context(), b.admin, runID, 0, runs.EventMatch{Words: []string{"x"}}, 5)
	})
	one("EventsBefore", func() (any, error) { return b.s.EventsBefore(b.Context(), b.admin, runID, 9, 5) })
	one("Executions", func() (any, error) { return b.s.Executions(b.Context(), b.admin, runID) })
	one("ReportRun", func() (any, error) {
		return b.s.ReportRun(b.Context(), agent, runID, lineshaft.RunReport{Kind: lineshaft.ReportMessage, Text: "x"})
	})
	one("ReportArtifact", func() (any, error) {
		return b.s.ReportArtifact(b.Context(), agent, runID, lineshaft.NewArtifact{FileName: "x"}, strings.NewReader("x"))
	})
}

func moreCalls(b *bench, job lineshaft.Job, one func(string, func() (any, error))) {
	b.Helper()
	one("RerunProblem", func() (any, error) { return b.s.RerunProblem(b.Context(), b.admin, job.RunID, lineshaft.SourceAPI) })
	secretCalls(b, one)
	one("WouldCancel", func() (any, error) { return b.s.WouldCancel(b.Context(), b.admin, lineshaft.RunFilter{}) })
	one("TakeOver", func() (any, error) { return b.s.TakeOver(b.Context(), job.ExecutionRef, "w", false) })
	one("AuthenticateExecution", func() (any, error) { return b.s.AuthenticateExecution(b.Context(), job.RunToken) })
}

func sessionCalls(b *bench, session string, one func(string, func() (any, error))) {
	ctx, s, c := b.Context(), b.s, b.admin
	one("CreateIdentitySession", func() (any, error) { return s.CreateIdentitySession(ctx, somebody(), access.Visitor{}) })
	one("ListSessions", func() (any, error) { return s.ListSessions(ctx, c, true, 5, "") })
	one("GetSession", func() (any, error) { return s.GetSession(ctx, c, "x") })
	one("RevokeSession", func() (any, error) { return nil, s.RevokeSession(ctx, c, "x") })
	one("RevokeOtherSessions", func() (any, error) { return s.RevokeOtherSessions(ctx, c) })
	one("CreateSession", func() (any, error) { return s.CreateSession(ctx, adminKey, access.Visitor{}) })
	one("SessionCaller", func() (any, error) { return s.SessionCaller(ctx, session) })
}
