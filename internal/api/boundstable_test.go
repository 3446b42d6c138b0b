package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// What bounds the answers of a route (H-14).
const (
	byPage      = "rows and 8 MiB, with a cursor; long texts cut"
	byRows      = "rows with a cursor; each row has bounded texts"
	byItem      = "one thing whose texts are bounded when it is written"
	byStretch   = "read and written by the stretch of 1 MiB"
	byCursor    = "4 MiB of log, with a cursor"
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
		"listAgents": byPage, "listModels": "what the operator set up", "listConnectedSelfHostedWorkers": "workers that are connected",
		"listScheduledAgents": byPage, "getScheduledAgent": byItem, "listSecrets": byPage, "getSecret": byItem,
		"listAgentIdentities": byPage, "getAgent": byItem, "listEnvironments": "500 for a server, 8 MiB of configuration together", "getEnvironment": byItem,
		"listFactories": byRows, "getFactory": byItem, "listAutomations": byPage, "listTriggerEvents": byProgram, "getAutomation": byItem, "listWebhooks": byPage,
		"getWebhook":     byItem,
		"listDeliveries": byPage, "listFactoryDeliveries": byPage, "getDelivery": "one payload of at most 1 MiB, and 512 KiB of explanation",
		"getDefinition": byFolder, "listRevisions": byRows, "getRevision": byFolder,
		"listSchemaVersions": byProgram, "listSchemas": byProgram, "getSchema": byProgram,
		"listNotifications": byPage, "getNotification": byItem, "listNotificationDeliveries": byRows, "getNotificationDelivery": byItem,
		"whoami": byItem, "listAPIKeys": byPage, "listAudit": byRows, "listEgressRanges": "what the operator set up",
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

// Every list keeps to a page, whatever a factory is filled with. What is asked for by the
// id of something, and what is a folder or a stream, has a test of its own.
func TestH14HostileRowsStayWithinAPage(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	storetest.FillFactory(t, b.store, "f", 60, 256<<10)
	bounds, asked := boundsByRoute(), 0
	for _, row := range b.srv.operations() {
		path := strings.ReplaceAll(row.Path, "{factoryUid}", "f")
		if bound := bounds[row.ID]; row.Method != http.MethodGet || strings.Contains(path, "{") || bound == byFollowing || bound == byFolder {
			continue
		}
		r := httptest.NewRequestWithContext(t.Context(), get, Prefix+path, http.NoBody)
		r.Header.Set("Authorization", "Bearer "+b.key(lineshaft.RoleAdmin))
		w := httptest.NewRecorder()
		if b.srv.ServeHTTP(w, r); w.Code >= http.StatusInternalServerError || w.Body.Len() > eightMiB+eightMiB/50 {
			t.Errorf("%s: status %d with %d bytes", row.ID, w.Code, w.Body.Len())
		}
		asked++
	}
	if asked < 15 {
		t.Errorf("only %d routes were asked", asked)
	}
}
