package api

import (
	"net/http"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/workerwire"
)

// route is one row of the table: who may call what, and who answers. An empty
// method means every method.
type route struct {
	Method     string
	Path       string
	ID         string
	Permission lineshaft.Permission
	bind       binder
}

// Short names keep the table readable.
const (
	get   = http.MethodGet
	post  = http.MethodPost
	put   = http.MethodPut
	patch = http.MethodPatch
	del   = http.MethodDelete

	public = lineshaft.PermissionNone
	anyKey = lineshaft.PermissionWhoami
	read   = lineshaft.PermissionRunsRead
	look   = lineshaft.PermissionServerRead
	start  = lineshaft.PermissionRunsStart
	manage = lineshaft.PermissionRunsManage
	keys   = lineshaft.PermissionKeys
	see    = lineshaft.PermissionFactoriesRead
	edit   = lineshaft.PermissionFactoriesManage
	vault  = lineshaft.PermissionSecrets
	audit  = lineshaft.PermissionAudit
	report = lineshaft.PermissionReport
	work   = lineshaft.PermissionWork
	own    = lineshaft.PermissionWorkOwn
)

// operations is the API: one row per operation, paths below Prefix. operations.go
// describes each operation under its id.
func (s *server) operations() []route {
	return slices.Concat(s.runOperations(), s.setUpOperations(), s.factoryOperations(), s.definitionOperations(), s.notificationOperations(), s.serverOperations())
}

// runOperations are the rows of runs and what belongs to them.
func (s *server) runOperations() []route {
	return []route{
		{post, "/agent/runs", "createRun", start, bind(s.createRun)},
		{post, "/agent/run", "runAgent", start, bind(s.createRun)},
		{get, "/agent/runs", "listRuns", read, bind(s.listRuns)},
		{post, "/agent/runs/cancel", "cancelRuns", manage, bind(s.cancelRuns)},
		{get, "/agent/runs/{runId}", "getRun", read, bind(s.getRun)},
		{del, "/agent/runs/{runId}", "deleteRun", manage, bind(s.deleteRun)},
		{post, "/agent/runs/{runId}/cancel", "cancelRun", start, bind(s.cancelRun)},
		{post, "/agent/runs/{runId}/followups", "submitRunFollowup", start, bind(s.createFollowup)},
		{post, "/agent/runs/{runId}/interrupt", "interruptRun", start, bind(s.interruptRun)},
		{post, "/agent/runs/{runId}/rerun", "rerunRun", start, bind(s.rerunRun)},
		{get, "/agent/runs/{runId}/events", "getRunEvents", read, bind(s.getEvents)},
		{get, "/agent/runs/{runId}/conversation", "getRunConversation", read, bind(s.getRunConversation)},
		{get, "/agent/runs/{runId}/transcript", "getRunTranscript", read, bind(s.getRunTranscript)},
		{get, "/agent/runs/{runId}/timeline", "getRunTimeline", read, bind(s.getTimeline)},
		{get, "/agent/runs/{runId}/handoff/attachments", "listHandoffAttachments", read, bind(s.listAttachments)},
		{post, "/agent/runs/{runId}/reports", "reportRun", report, bind(s.reportRun)},
		{post, "/agent/runs/{runId}/artifacts", "reportArtifact", report, bind(s.reportArtifact)},
		{get, "/agent/tasks", "listTasks", read, bind(s.listRuns)},
		{post, "/agent/tasks", "createTask", start, bind(s.createRun)},
		{get, "/agent/tasks/{runId}", "getTask", read, bind(s.getRun)},
		{post, "/agent/tasks/{runId}/cancel", "cancelTask", start, bind(s.cancelRun)},
		{get, "/agent/events/stream", "streamRunStates", read, bind(s.streamStates)},
		{get, "/agent/run-by-external-reference", "getRunByExternalReferenceURL", read, bind(s.getRunByReference)},
		{get, "/agent/conversations/{conversationId}", "getConversation", read, bind(s.getConversation)},
		{get, "/agent/conversations/{conversationId}/transcript", "getConversationTranscript", read, bind(s.getConversationTranscript)},
		{post, "/agent/conversations/{conversationId}/followups", "submitConversationFollowup", start, bind(s.createConversationFollowup)},
		{post, "/agent/conversations/{conversationId}/interrupt", "interruptConversation", start, bind(s.interruptConversation)},
		{get, "/agent/conversations/{conversationId}/redirect", "getConversationRedirect", public, bind(s.getConversationRedirect)},
		{get, "/agent/conversations/{conversationId}/screenshots/{artifactUid}/download", "downloadScreenshot", read, bind(s.downloadScreenshot)},
		{get, "/agent/sessions/{sessionUuid}/redirect", "getSessionRedirect", public, bind(s.getSessionRedirect)},
		{get, "/agent/artifacts/{artifactUid}", "getArtifact", read, bind(s.getArtifact)},
		{get, "/agent/artifacts/{artifactUid}/download", "downloadArtifact", read, bind(s.downloadArtifact)},
		{get, "/agent/downloads/{token}", "getDownload", public, bind(s.getDownload)},
		{get, "/agent", "listAgents", read, bind(s.listAgents)},
		{get, "/agent/models", "listModels", look, bind(s.listModels)},
		{get, "/agent/connected-self-hosted-workers", "listConnectedSelfHostedWorkers", look, bind(s.listWorkers)},
	}
}

// setUpOperations are the rows of agents, environments, schedules and secrets.
func (s *server) setUpOperations() []route {
	return []route{
		{get, "/agent/schedules", "listScheduledAgents", see, bind(s.listSchedules)},
		{post, "/agent/schedules", "createScheduledAgent", edit, bind(s.createSchedule)},
		{get, "/agent/schedules/{scheduleId}", "getScheduledAgent", see, bind(s.getSchedule)},
		{put, "/agent/schedules/{scheduleId}", "updateScheduledAgent", edit, bind(s.updateSchedule)},
		{del, "/agent/schedules/{scheduleId}", "deleteScheduledAgent", edit, bind(s.deleteSchedule)},
		{post, "/agent/schedules/{scheduleId}/pause", "pauseScheduledAgent", edit, bind(s.pauseSchedule)},
		{post, "/agent/schedules/{scheduleId}/resume", "resumeScheduledAgent", edit, bind(s.resumeSchedule)},
		{get, "/secrets", "listSecrets", vault, bind(s.listSecrets)},
		{post, "/secrets", "createSecret", vault, bind(s.createSecret)},
		{get, "/secrets/{name}", "getSecret", vault, bind(s.getSecret)},
		{put, "/secrets/{name}", "updateSecret", vault, bind(s.updateSecret)},
		{del, "/secrets/{name}", "deleteSecret", vault, bind(s.deleteSecret)},
		{get, "/agent/identities", "listAgentIdentities", read, bind(s.listIdentities)},
		{post, "/agent/identities", "createAgent", edit, bind(s.createIdentity)},
		{get, "/agent/identities/{agentUid}", "getAgent", read, bind(s.getIdentity)},
		{put, "/agent/identities/{agentUid}", "updateAgent", edit, bind(s.updateIdentity)},
		{del, "/agent/identities/{agentUid}", "deleteAgent", edit, bind(s.deleteIdentity)},
		{get, "/agent/environments", "listEnvironments", see, bind(s.listEnvironments)},
		{post, "/agent/environments", "createEnvironment", edit, bind(s.createEnvironment)},
		{get, "/agent/environments/{environmentUid}", "getEnvironment", see, bind(s.getEnvironment)},
		{put, "/agent/environments/{environmentUid}", "updateEnvironment", edit, bind(s.updateEnvironment)},
		{del, "/agent/environments/{environmentUid}", "deleteEnvironment", edit, bind(s.deleteEnvironment)},
	}
}

// factoryOperations are the rows of factories with their automations and webhooks.
func (s *server) factoryOperations() []route {
	return []route{
		{get, "/factory", "listFactories", see, bind(s.listFactories)},
		{post, "/factory", "createFactory", edit, bind(s.createFactory)},
		{get, "/factory/{factoryUid}", "getFactory", see, bind(s.getFactory)},
		{patch, "/factory/{factoryUid}", "updateFactory", edit, bind(s.updateFactory)},
		{del, "/factory/{factoryUid}", "deleteFactory", edit, bind(s.deleteFactory)},
		{post, "/factory/{factoryUid}/runs", "createFactoryRun", start, bind(s.createFactoryRun)},
		{post, "/factory/{factoryUid}/repository/sync", "syncRepository", edit, bind(s.syncRepository)},
		{get, "/factory/automations/events/{provider}", "listTriggerEvents", see, bind(s.listTriggerEvents)},
		{get, "/factory/{factoryUid}/automations", "listAutomations", see, bind(s.listAutomations)},
		{post, "/factory/{factoryUid}/automations", "createAutomation", edit, bind(s.createAutomation)},
		{get, "/factory/{factoryUid}/automations/{automationUid}", "getAutomation", see, bind(s.getAutomation)},
		{patch, "/factory/{factoryUid}/automations/{automationUid}", "updateAutomation", edit, bind(s.updateAutomation)},
		{del, "/factory/{factoryUid}/automations/{automationUid}", "deleteAutomation", edit, bind(s.deleteAutomation)},
		{get, "/factory/{factoryUid}/webhooks", "listWebhooks", see, bind(s.listWebhooks)},
		{post, "/factory/{factoryUid}/webhooks", "createWebhook", edit, bind(s.createWebhook)},
		{get, "/factory/{factoryUid}/webhooks/{webhookUid}", "getWebhook", see, bind(s.getWebhook)},
		{patch, "/factory/{factoryUid}/webhooks/{webhookUid}", "updateWebhook", edit, bind(s.updateWebhook)},
		{del, "/factory/{factoryUid}/webhooks/{webhookUid}", "deleteWebhook", edit, bind(s.deleteWebhook)},
		{post, "/factory/{factoryUid}/webhooks/{webhookUid}/rotate", "rotateWebhook", edit, bind(s.rotateWebhook)},
		{get, "/factory/{factoryUid}/webhooks/{webhookUid}/deliveries", "listDeliveries", see, bind(s.listDeliveries)},
		{get, "/factory/{factoryUid}/webhooks/{webhookUid}/deliveries/{deliveryId}", "getDelivery", see, bind(s.getDelivery)},
		{post, "/factory/{factoryUid}/webhooks/{webhookUid}/deliveries/{deliveryId}/redeliver", "redeliver", edit, bind(s.redeliver)},
		{post, "/factory/{factoryUid}/webhooks/{webhookUid}/test", "testWebhook", edit, bind(s.testWebhook)},
		{get, "/factory/{factoryUid}/deliveries", "listFactoryDeliveries", see, bind(s.listFactoryDeliveries)},
		{post, "/factory/{factoryUid}/test-filter", "testFilter", see, bind(s.testFilter)},
	}
}

// definitionOperations are the rows of factories as folders.
func (s *server) definitionOperations() []route {
	return []route{
		{get, "/factory/{factoryUid}/definition", "getDefinition", edit, bind(s.getDefinition)},
		{post, "/factory/{factoryUid}/definition/validate", "validateDefinition", edit, bind(s.validateDefinition)},
		{post, "/factory/{factoryUid}/definition/plan", "planDefinition", edit, bind(s.planDefinition)},
		{post, "/factory/{factoryUid}/definition/apply", "applyDefinition", edit, bind(s.applyDefinition)},
		{get, "/factory/{factoryUid}/definition/revisions", "listRevisions", edit, bind(s.listRevisions)},
		{get, "/factory/{factoryUid}/definition/revisions/{number}", "getRevision", edit, bind(s.getRevision)},
		{post, "/factory/{factoryUid}/definition/revisions/{number}/rollback", "rollbackDefinition", edit, bind(s.rollbackDefinition)},
		{post, "/factory-files/plan", "planFiles", edit, bind(s.planFiles)},
		{get, "/factory-files/schemas", "listSchemaVersions", public, bind(s.listSchemaVersions)},
		{get, "/factory-files/schemas/{version}", "listSchemas", public, bind(s.listSchemas)},
		{get, "/factory-files/schemas/{version}/{document}", "getSchema", public, bind(s.getSchema)},
		{post, "/factory-files/validate", "validateFiles", public, bind(s.validateFiles)},
	}
}

func (s *server) notificationOperations() []route {
	return []route{
		{get, "/notifications", "listNotifications", see, bind(s.listNotifications)},
		{post, "/notifications", "createNotification", edit, bind(s.createNotification)},
		{get, "/notifications/{notificationId}", "getNotification", see, bind(s.getNotification)},
		{patch, "/notifications/{notificationId}", "updateNotification", edit, bind(s.updateNotification)},
		{del, "/notifications/{notificationId}", "deleteNotification", edit, bind(s.deleteNotification)},
		{post, "/notifications/{notificationId}/rotate", "rotateNotification", edit, bind(s.rotateNotification)},
		{post, "/notifications/{notificationId}/test", "testNotification", edit, bind(s.testNotification)},
		{get, "/notifications/{notificationId}/deliveries", "listNotificationDeliveries", see, bind(s.listNotificationDeliveries)},
		{get, "/notifications/{notificationId}/deliveries/{deliveryId}", "getNotificationDelivery", see, bind(s.getNotificationDelivery)},
		{post, "/notifications/{notificationId}/deliveries/{deliveryId}/replay", "replayNotificationDelivery", edit, bind(s.replayNotificationDelivery)},
	}
}

func (s *server) serverOperations() []route {
	return []route{
		{get, "/whoami", "whoami", anyKey, bind(s.whoami)},
		{get, "/apikeys", "listAPIKeys", keys, bind(s.listAPIKeys)},
		{post, "/apikeys", "createAPIKey", keys, bind(s.createAPIKey)},
		{del, "/apikeys/{keyId}", "revokeAPIKey", keys, bind(s.revokeAPIKey)},
		{get, "/audit", "listAudit", audit, bind(s.listAudit)},
		{get, "/networking/egress-ranges", "listEgressRanges", look, bind(s.listEgressRanges)},
	}
}

// published are operations of the published API that this server does not offer: 422
// for a caller with a key, instead of a 404 that would look like a wrong address.
func (s *server) published() []route {
	var rows []route
	for _, operation := range [][2]string{
		{post, "/agent/runs/{runId}/scores"},
		{get, "/agent/runs/{runId}/harness-usage"},
		{post, "/agent/messages"},
		{get, "/agent/messages/{runId}"},
		{post, "/agent/messages/{messageId}/read"},
		{post, "/agent/messages/{messageId}/delivered"},
		{get, "/factory/{factoryUid}/tasks"},
		{post, "/factory/{factoryUid}/tasks"},
		{get, "/factory/{factoryUid}/tasks/{taskUid}"},
		{patch, "/factory/{factoryUid}/tasks/{taskUid}"},
		{del, "/factory/{factoryUid}/tasks/{taskUid}"},
		{post, "/factory/{factoryUid}/tasks/{taskUid}/cancel"},
		{get, "/factory/{factoryUid}/task-by-conversation"},
		{get, "/factory/{factoryUid}/task-by-run"},
		{get, "/factory/{factoryUid}/metrics"},
		{get, "/factory/{factoryUid}/metrics/run-breakdown"},
		{get, "/factory/{factoryUid}/costs/breakdown"},
		{get, "/factory/{factoryUid}/costs/per-pr"},
		{get, "/factory/{factoryUid}/costs/per-pr/by-size"},
		{get, "/factory/{factoryUid}/costs/per-pr/top"},
		{get, "/factory/{factoryUid}/pull-requests"},
	} {
		rows = append(rows, route{operation[0], operation[1], "", anyKey, raw(s.notOffered)})
	}
	return append(rows, route{get, "/factory/runs/{runId}/scores", "", anyKey, besideOurs(s.notOffered)})
}

// workerRoutes are for self-hosted workers of about the same version. They are not
// part of the published API and so not in the OpenAPI document.
func (s *server) workerRoutes() []route {
	return []route{
		{post, workerwire.PathConnect, "", work, worked(s.workerConnect)},
		{post, workerwire.PathClaim, "", work, worked(s.workerClaim)},
		{post, workerwire.PathHeartbeat, "", own, worked(s.workerHeartbeat)},
		{post, workerwire.PathDirectives, "", own, worked(s.workerDirectives)},
		{post, workerwire.PathReport, "", own, worked(s.workerReport)},
		{post, workerwire.PathEndTurn, "", own, worked(s.workerEndTurn)},
		{post, workerwire.PathUpload, "", own, workerStream(s.workerUpload)},
		{post, workerwire.PathDownload, "", own, workerStream(s.workerDownload)},
		{post, workerwire.PathTakeOver, "", own, worked(s.workerTakeOver)},
		{post, workerwire.PathLeave, "", own, worked(s.workerLeave)},
	}
}

// extras are the pages that are not operations. Those that begin with two slashes are
// outside Prefix.
func (s *server) extras() []route {
	return []route{
		{get, "/openapi.json", "", public, raw(s.serveOpenAPIJSON)},
		{get, "/openapi.yaml", "", public, raw(s.serveOpenAPIYAML)},
		{get, "/docs", "", public, raw(s.serveDocs)},
		{"", "/mcp", "", anyKey, forMCP(s.serveMCP)},
		{get, "//healthz", "", public, raw(s.serveHealth)},
		{get, "//readyz", "", public, raw(s.serveReady)},
		{get, "//metrics", "", public, raw(s.serveMetrics)},
		{get, "//docs/errors", "", public, raw(s.serveErrorPage)},
		{get, "//docs/errors/{rest...}", "", public, raw(s.serveErrorPage)},
	}
}

// Route is one reachable route: what a test needs to call it as every role.
type Route struct {
	// Method is empty when every method is answered alike.
	Method      string
	Path        string
	OperationID string
	Permission  lineshaft.Permission
}

// Routes lists every route of this package with its full path.
func Routes() []Route {
	var list []Route
	for _, row := range (&server{}).table() {
		list = append(list, Route{row.Method, row.fullPath(), row.ID, row.Permission})
	}
	return list
}

func (s *server) table() []route {
	return slices.Concat(s.operations(), s.workerRoutes(), s.published(), s.extras())
}

func (r route) fullPath() string {
	if len(r.Path) > 1 && r.Path[:2] == "//" {
		return r.Path[1:]
	}
	return Prefix + r.Path
}

func (r route) pattern() string {
	if r.Method == "" {
		return r.fullPath()
	}
	return r.Method + " " + r.fullPath()
}
