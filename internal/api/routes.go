package api

import (
	"net/http"

	"github.com/lineshaft/lineshaft"
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
	get  = http.MethodGet
	post = http.MethodPost
	del  = http.MethodDelete

	public = lineshaft.PermissionNone
	anyKey = lineshaft.PermissionWhoami
	read   = lineshaft.PermissionRunsRead
	start  = lineshaft.PermissionRunsStart
	manage = lineshaft.PermissionRunsManage
	keys   = lineshaft.PermissionKeys
	audit  = lineshaft.PermissionAudit
)

// operations is the API: one row per operation, paths below Prefix. What an
// operation does is told in operations.go under its id.
func operations() []route {
	return []route{
		{post, "/agent/runs", "createRun", start, bind((*server).createRun)},
		{post, "/agent/run", "runAgent", start, bind((*server).createRun)},
		{get, "/agent/runs", "listRuns", read, bind((*server).listRuns)},
		{post, "/agent/runs/cancel", "cancelRuns", manage, bind((*server).cancelRuns)},
		{get, "/agent/runs/{runId}", "getRun", read, bind((*server).getRun)},
		{del, "/agent/runs/{runId}", "deleteRun", manage, bind((*server).deleteRun)},
		{post, "/agent/runs/{runId}/cancel", "cancelRun", start, bind((*server).cancelRun)},
		{post, "/agent/runs/{runId}/followups", "submitRunFollowup", start, bind((*server).createFollowup)},
		{post, "/agent/runs/{runId}/interrupt", "interruptRun", start, bind((*server).interruptRun)},
		{post, "/agent/runs/{runId}/rerun", "rerunRun", start, bind((*server).rerunRun)},
		{get, "/agent/runs/{runId}/events", "getRunEvents", read, bind((*server).getEvents)},
		{get, "/agent/runs/{runId}/conversation", "getRunConversation", read, bind((*server).getRunConversation)},
		{get, "/agent/runs/{runId}/transcript", "getRunTranscript", read, bind((*server).getRunTranscript)},
		{get, "/agent/runs/{runId}/timeline", "getRunTimeline", read, bind((*server).getTimeline)},
		{get, "/agent/runs/{runId}/handoff/attachments", "listHandoffAttachments", read, bind((*server).listAttachments)},
		{get, "/agent/tasks", "listTasks", read, bind((*server).listRuns)},
		{post, "/agent/tasks", "createTask", start, bind((*server).createRun)},
		{get, "/agent/tasks/{runId}", "getTask", read, bind((*server).getRun)},
		{post, "/agent/tasks/{runId}/cancel", "cancelTask", start, bind((*server).cancelRun)},
		{get, "/agent/events/stream", "streamRunStates", read, bind((*server).streamStates)},
		{get, "/agent/run-by-external-reference", "getRunByExternalReferenceURL", read, bind((*server).getRunByReference)},
		{get, "/agent/conversations/{conversationId}", "getConversation", read, bind((*server).getConversation)},
		{get, "/agent/conversations/{conversationId}/transcript", "getConversationTranscript", read, bind((*server).getConversationTranscript)},
		{post, "/agent/conversations/{conversationId}/followups", "submitConversationFollowup", start, bind((*server).createConversationFollowup)},
		{post, "/agent/conversations/{conversationId}/interrupt", "interruptConversation", start, bind((*server).interruptConversation)},
		{get, "/agent/conversations/{conversationId}/redirect", "getConversationRedirect", public, bind((*server).getConversationRedirect)},
		{get, "/agent/conversations/{conversationId}/screenshots/{artifactUid}/download", "downloadScreenshot", read, bind((*server).downloadArtifact)},
		{get, "/agent/sessions/{sessionUuid}/redirect", "getSessionRedirect", public, bind((*server).getSessionRedirect)},
		{get, "/agent/artifacts/{artifactUid}", "getArtifact", read, bind((*server).getArtifact)},
		{get, "/agent/artifacts/{artifactUid}/download", "downloadArtifact", read, bind((*server).downloadArtifact)},
		{get, "/agent/downloads/{token}", "getDownload", public, bind((*server).getDownload)},
		{get, "/agent/models", "listModels", read, bind((*server).listModels)},
		{get, "/agent/connected-self-hosted-workers", "listConnectedSelfHostedWorkers", read, bind((*server).listWorkers)},
		{get, "/whoami", "whoami", anyKey, bind((*server).whoami)},
		{get, "/apikeys", "listAPIKeys", keys, bind((*server).listAPIKeys)},
		{post, "/apikeys", "createAPIKey", keys, bind((*server).createAPIKey)},
		{del, "/apikeys/{keyId}", "revokeAPIKey", keys, bind((*server).revokeAPIKey)},
		{get, "/audit", "listAudit", audit, bind((*server).listAudit)},
		{get, "/networking/egress-ranges", "listEgressRanges", read, bind((*server).listEgressRanges)},
	}
}

// published are routes of the published API that this server does not offer yet:
// 422 for whoever has a key, instead of a 404 that would look like a wrong address.
func published() []route {
	var rows []route
	for _, path := range []string{
		"/agent/runs/{runId}/scores", "/agent/runs/{runId}/harness-usage",
		"/agent/messages", "/agent/messages/{rest...}", "/agent/schedules", "/agent/schedules/{rest...}",
		"/agent/environments", "/agent/environments/{rest...}", "/agent/identities", "/agent/identities/{rest...}",
		"/factory", "/factory/{rest...}",
	} {
		rows = append(rows, route{"", path, "", anyKey, raw((*server).notOffered)})
	}
	return append(rows, route{get, "/agent", "", anyKey, raw((*server).notOffered)})
}

// extras are the pages that are not operations. Those that begin with a slash
// twice stand outside Prefix.
func extras() []route {
	return []route{
		{get, "/openapi.json", "", public, raw((*server).serveOpenAPIJSON)},
		{get, "/openapi.yaml", "", public, raw((*server).serveOpenAPIYAML)},
		{get, "/docs", "", public, raw((*server).serveDocs)},
		{get, "//healthz", "", public, raw((*server).serveHealth)},
		{get, "//readyz", "", public, raw((*server).serveReady)},
		{get, "//metrics", "", public, raw((*server).serveMetrics)},
		{get, "//docs/errors", "", public, raw((*server).serveErrorPage)},
		{get, "//docs/errors/{rest...}", "", public, raw((*server).serveErrorPage)},
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
	for _, row := range table() {
		list = append(list, Route{row.Method, row.fullPath(), row.ID, row.Permission})
	}
	return list
}

func table() []route {
	return append(append(operations(), published()...), extras()...)
}

func (r route) fullPath() string {
	if len(r.Path) > 1 && r.Path[:2] == "//" {
		return r.Path[1:]
	}
	return Prefix + r.Path
}

// pattern is the row as http.ServeMux spells it.
func (r route) pattern() string {
	if r.Method == "" {
		return r.fullPath()
	}
	return r.Method + " " + r.fullPath()
}
