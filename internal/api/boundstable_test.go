package api

import (
	"net/http"
	"testing"
)

// What bounds the answers of a route (H-14).
const (
	byPage      = "rows and 8 MiB, with a cursor; long texts cut"
	byRows      = "rows with a cursor; each row has bounded texts"
	byItem      = "one thing whose texts are bounded when it is written"
	byStretch   = "read and written by the stretch of 1 MiB"
	byCursor    = "4 MiB of log, with a cursor"
	bySetUp     = "not bounded in rows yet, as many as managers made; each item's texts are bounded when it is written, at most 1 MiB a prompt"
	byFolder    = "one folder of at most 16 MiB"
	byProgram   = "what is in the program"
	byFollowing = "as it comes, by the stretch of 1 MiB"
	byFile      = "copied from the store piece by piece"
)

func boundsByRoute() map[string]string {
	return map[string]string{
		"listRuns": byPage, "listTasks": byPage, "getRun": byItem, "getTask": byItem, "getRunEvents": byStretch + "; " + byPage,
		"getRunConversation": byCursor, "getConversation": byCursor, "getRunTranscript": byItem, "getConversationTranscript": byItem,
		"getRunTimeline": "2,000 state changes or 1 MiB", "listHandoffAttachments": "5 files a message", "streamRunStates": byFollowing,
		"getRunByExternalReferenceURL": byItem, "getConversationRedirect": byItem, "getSessionRedirect": byItem,
		"downloadScreenshot": byFile, "downloadArtifact": byItem, "getArtifact": byItem, "getDownload": byFile + "; a transcript " + byStretch + ", 128 MiB",
		"listAgents": "skills of the repositories that were looked at", "listModels": "what the operator set up", "listConnectedSelfHostedWorkers": "workers that are connected",
		"listScheduledAgents": bySetUp, "getScheduledAgent": byItem, "listSecrets": bySetUp, "getSecret": byItem,
		"listAgentIdentities": bySetUp, "getAgent": byItem, "listEnvironments": bySetUp, "getEnvironment": byItem,
		"listFactories": byRows, "getFactory": byItem, "listAutomations": bySetUp, "getAutomation": byItem, "listWebhooks": bySetUp + ", 1,000 by default", "getWebhook": byItem,
		"listDeliveries": byRows, "getDelivery": "one payload of at most 1 MiB", "getDefinition": byFolder, "listRevisions": byRows, "getRevision": byFolder,
		"listSchemaVersions": byProgram, "listSchemas": byProgram, "getSchema": byProgram,
		"listNotifications": bySetUp, "getNotification": byItem, "listNotificationDeliveries": byRows, "getNotificationDelivery": byItem,
		"whoami": byItem, "listAPIKeys": bySetUp, "listAudit": byRows, "listEgressRanges": "what the operator set up",
	}
}

// Every route that answers with what is stored says what bounds its answer.
func TestH14EveryRouteHasABound(t *testing.T) {
	t.Parallel()
	known := boundsByRoute()
	for _, row := range (&server{}).operations() {
		if row.Method != http.MethodGet {
			continue
		}
		if known[row.ID] == "" {
			t.Errorf("%s %s (%s): what bounds its answer?", row.Method, row.Path, row.ID)
		}
		delete(known, row.ID)
	}
	for id := range known {
		t.Errorf("%s is no route", id)
	}
}
