package api

import (
	"encoding/json"
	"net/http"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/api/examples"
)

// operationDoc is what the OpenAPI document tells about an operation beyond its
// types, and what the guard must know.
type operationDoc struct {
	tag     string
	summary string
	text    string
	// status is that of success; zero is 200.
	status int
	// codes are the errors of this operation beyond the common ones.
	codes []lineshaft.Code
	// large bodies may have 16 MiB.
	large bool
	// archive operations take a tar.gz of a folder, too.
	archive bool
	// nul operations take U+0000 in their body.
	nul bool
	// streamed bodies are left to the handler.
	streamed bool
	// upload operations take any content, which is read while it is stored.
	upload bool
	// idempotent operations honour an Idempotency-Key.
	idempotent bool
	deprecated bool
	// request and response are examples.
	request  json.RawMessage
	response json.RawMessage
}

// example reads api/examples/NAME.json. A test finds a name without a file.
func example(name string) json.RawMessage {
	text, _ := examples.Files.ReadFile(name + ".json")
	return text
}

// The groups of the documentation.
const (
	tagRuns          = "Runs"
	tagEvents        = "Events"
	tagConversations = "Conversations"
	tagArtifacts     = "Artifacts"
	tagServer        = "Server"
	tagAccess        = "Access"
	tagSecrets       = "Secrets"
	tagEnvironments  = "Environments"
	tagFactories     = "Factories"
	tagAgents        = "Agents"
	tagWebhooks      = "Webhooks"
	tagSchedules     = "Schedules"
	tagDefinitions   = "Definitions"
	tagNotifications = "Notifications"
)

// docs describes every operation of the table by its id.
func docs() map[string]operationDoc {
	all := map[string]operationDoc{}
	for _, group := range []map[string]operationDoc{runDocs(), logDocs(), serverDocs(), factoryDocs(), webhookDocs(), secretDocs(), deliveryDocs(), definitionDocs(), agentDocs(), environmentDocs(), scheduleDocs(), notificationDocs()} {
		for id, doc := range group {
			all[id] = doc
		}
	}
	alias := func(id, of, summary string) {
		doc := all[of]
		doc.summary, doc.text, doc.deprecated = summary, "An older name of "+of+", with the same behaviour.", true
		all[id] = doc
	}
	alias("runAgent", "createRun", "Start a run (older name)")
	alias("listTasks", "listRuns", "List runs (older name)")
	alias("createTask", "createRun", "Start a run (oldest name)")
	alias("getTask", "getRun", "Get a run (older name)")
	alias("cancelTask", "cancelRun", "Cancel a run (older name)")
	return all
}

const (
	notFound     = lineshaft.CodeNotFound
	conflict     = lineshaft.CodeConflict
	tooLarge     = lineshaft.CodePayloadTooLarge
	notSupported = lineshaft.CodeNotSupported
	mismatch     = lineshaft.CodeIdempotencyMismatch
	budget       = lineshaft.CodeBudgetExceeded
)

func runDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"createRun": {
			tag: tagRuns, summary: "Start a run", large: true, idempotent: true,
			text:  "Queues a run and answers when it is durable. Watch it with getRun or getRunEvents.",
			codes: []lineshaft.Code{notFound, conflict, tooLarge, notSupported, mismatch, budget}, request: example("run_agent_request"), response: example("run_agent_response"),
		},
		"listRuns": {
			tag: tagRuns, summary: "List runs", text: "All conditions must hold. Newest change first, unless sort_by says otherwise.",
			response: example("list_runs_response"),
		},
		"getRun": {tag: tagRuns, summary: "Get a run", codes: []lineshaft.Code{notFound}, response: example("run_item")},
		"deleteRun": {
			tag: tagRuns, summary: "Delete a run", status: http.StatusNoContent,
			text: "Removes an ended run with its log and artifacts. A live one is 409: cancel it first.", codes: []lineshaft.Code{notFound, conflict},
		},
		"cancelRun": {
			tag: tagRuns, summary: "Cancel a run", idempotent: true,
			text:  "The run is CANCELLED when this answers; its processes are gone within 10 seconds. A run that has ended is 400.",
			codes: []lineshaft.Code{notFound, conflict, mismatch}, response: json.RawMessage(`"01980f6e-5b7c-7c1a-9d53-0c8a7f3e2b11"`),
		},
		"cancelRuns": {
			tag: tagRuns, summary: "Cancel runs by filter", text: "Cancels every live run that the filter selects.",
			codes: []lineshaft.Code{tooLarge}, request: example("cancel_runs_request"), response: json.RawMessage(`{"cancelled":["01980f6e-5b7c-7c1a-9d53-0c8a7f3e2b11"]}`),
		},
		"submitRunFollowup": {
			tag: tagRuns, summary: "Send a follow-up", large: true, idempotent: true,
			text:  "Adds a message to a run: before its start, while it works, or after it ended (which reopens it).",
			codes: []lineshaft.Code{notFound, conflict, tooLarge, notSupported, mismatch}, request: example("run_followup_request"), response: example("run_followup_response"),
		},
		"interruptRun": {
			tag: tagRuns, summary: "Interrupt the current turn", status: http.StatusAccepted,
			text: "Stops what the agent is doing now; the run stays INPROGRESS, and a follow-up continues it. " +
				"One that is CLAIMED is interrupted as soon as its agent begins.",
			codes: []lineshaft.Code{notFound, conflict},
		},
		"reportRun": {
			tag: tagRuns, summary: "Report on the own run",
			text: "For agents: puts a message, notice, plan or address into the log of the run whose run token the caller has, while its execution lives. " +
				"Values of the run's secrets are masked. An address becomes an artifact.",
			codes: []lineshaft.Code{notFound, conflict}, request: example("run_report_request"), response: example("run_report_response"),
		},
		"reportArtifact": {
			tag: tagArtifacts, summary: "Report a file of the own run", upload: true,
			text:  "For agents: the body is the content, of at most 100 MB. Files in $LINESHAFT_ARTIFACTS are stored at the end of a turn without this.",
			codes: []lineshaft.Code{notFound, conflict, tooLarge}, response: example("run_report_response"),
		},
		"rerunRun": {
			tag: tagRuns, summary: "Run again", text: "Starts a new run with the same request.",
			codes: []lineshaft.Code{notFound, conflict}, response: example("run_agent_response"),
		},
		"getRunByExternalReferenceURL": {
			tag: tagRuns, summary: "Find a run by what it made", text: "The newest run that reported this address as an artifact.",
			codes: []lineshaft.Code{notFound}, response: json.RawMessage(`{"run_id":"01980f6e-5b7c-7c1a-9d53-0c8a7f3e2b11"}`),
		},
	}
}

func logDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"getRunEvents": {
			tag: tagEvents, summary: "Read or follow the log of a run",
			text: "As JSON: a page of events. With Accept: text/event-stream: the events after Last-Event-ID (or after), then live ones; " +
				"the id of each is its sequence, a comment comes every 15 seconds, and the stream ends when the run has ended and everything was sent.",
			codes: []lineshaft.Code{notFound}, response: example("run_events_response"),
		},
		"streamRunStates": {
			tag: tagEvents, summary: "Follow the state changes of all runs",
			text: "Server-Sent Events with the filters of the list; the id of each is a cursor to resume after.",
		},
		"getRunTimeline": {
			tag: tagEvents, summary: "Get the state changes of a run", codes: []lineshaft.Code{notFound}, response: example("timeline_response"),
		},
		"getRunConversation": {
			tag: tagConversations, summary: "Get the conversation of a run", codes: []lineshaft.Code{notFound, notSupported}, response: example("conversation_response"),
		},
		"getRunTranscript": {
			tag: tagConversations, summary: "Download the log of a run", status: http.StatusFound,
			text: "Redirects to a file with one JSON object per event and line.", codes: []lineshaft.Code{notFound},
		},
		"getConversation": {
			tag: tagConversations, summary: "Get a conversation", text: "Of the newest run that belongs to it.",
			codes: []lineshaft.Code{notFound, notSupported}, response: example("conversation_response"),
		},
		"getConversationTranscript": {
			tag: tagConversations, summary: "Download the log of a conversation", status: http.StatusFound,
			text: "Redirects to a file with one JSON object per event and line.", codes: []lineshaft.Code{notFound},
		},
		"submitConversationFollowup": {
			tag: tagConversations, summary: "Send a follow-up to a conversation", large: true, idempotent: true,
			codes: []lineshaft.Code{notFound, conflict, tooLarge, notSupported, mismatch}, request: example("run_followup_request"),
			response: json.RawMessage(`{"followup_id":"01980f70-1122-7a3b-8c4d-5e6f70819203","outcome":"live_session","run_id":"01980f6e-5b7c-7c1a-9d53-0c8a7f3e2b11"}`),
		},
		"interruptConversation": {
			tag: tagConversations, summary: "Interrupt a conversation", status: http.StatusAccepted,
			codes: []lineshaft.Code{notFound, conflict}, response: json.RawMessage(`{"run_id":"01980f6e-5b7c-7c1a-9d53-0c8a7f3e2b11"}`),
		},
		"getConversationRedirect": {
			tag: tagConversations, summary: "Find the session of a conversation", text: "Needs no key. Empty when there is none.",
			response: json.RawMessage(`{"session_id":"01980f6e-8c10-7d3b-b6e0-2a9f4c5d6e77"}`),
		},
		"getSessionRedirect": {
			tag: tagConversations, summary: "Find the conversation of a session", text: "Needs no key. Empty when there is none.",
			response: json.RawMessage(`{"conversation_id":"01980f6e-5b7d-7b0e-8a41-5f0d1c2e3a44"}`),
		},
		"listHandoffAttachments": {
			tag: tagArtifacts, summary: "List the files that came with a run", codes: []lineshaft.Code{notFound}, response: example("attachments_response"),
		},
		"getArtifact": {
			tag: tagArtifacts, summary: "Get an artifact", text: "Artifacts that are only links are 404.",
			codes: []lineshaft.Code{notFound}, response: example("artifact_response"),
		},
		"downloadArtifact": {
			tag: tagArtifacts, summary: "Download an artifact", status: http.StatusFound, text: "Redirects to the file.", codes: []lineshaft.Code{notFound},
		},
		"downloadScreenshot": {
			tag: tagArtifacts, summary: "Download a screenshot", status: http.StatusFound, text: "Redirects to the file.", codes: []lineshaft.Code{notFound},
		},
		"getDownload": {
			tag: tagArtifacts, summary: "Download by token", text: "Needs no key: the token in the path is the permission, for a quarter of an hour.",
			codes: []lineshaft.Code{notFound},
		},
	}
}

func serverDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listAgents": {
			tag: tagServer, summary: "List skills",
			text: "The skills of repositories, by name. A repository that cannot be read is left out, unless repo names it. " +
				"A viewer may name a repository of an environment or a factory; who may start runs, any that the server can read.",
			codes: []lineshaft.Code{notFound, notSupported}, response: example("list_agents_response"),
		},
		"listModels": {tag: tagServer, summary: "List what this server can run", response: example("models_response")},
		"listConnectedSelfHostedWorkers": {
			tag: tagServer, summary: "List the connected workers", response: example("workers_response"),
		},
		"listEgressRanges": {tag: tagServer, summary: "List egress addresses", response: json.RawMessage(`{"cidrs":[]}`)},
		"whoami":           {tag: tagAccess, summary: "Tell a key whose it is", response: example("whoami_response")},
		"listAPIKeys":      {tag: tagAccess, summary: "List API keys", response: example("list_apikeys_response")},
		"createAPIKey": {
			tag: tagAccess, summary: "Create an API key", status: http.StatusCreated, text: "The answer holds the key, this one time.",
			codes: []lineshaft.Code{conflict, tooLarge}, request: example("create_apikey_request"), response: example("create_apikey_response"),
		},
		"revokeAPIKey": {tag: tagAccess, summary: "Revoke an API key", status: http.StatusNoContent, codes: []lineshaft.Code{notFound}},
		"listAudit":    {tag: tagAccess, summary: "Read the audit log", text: "Newest first.", response: example("audit_response")},
	}
}

func secretDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listSecrets": {tag: tagSecrets, summary: "List secrets", text: "By name; values are never answered.", response: example("list_secrets_response")},
		"createSecret": {
			tag: tagSecrets, summary: "Create a secret", status: http.StatusCreated,
			text:  "The value is stored encrypted and cannot be read again. Runs that name the secret get it as a variable of its name.",
			codes: []lineshaft.Code{conflict, tooLarge}, request: example("create_secret_request"), response: example("secret"),
		},
		"getSecret": {tag: tagSecrets, summary: "Get a secret", text: "Without its value.", codes: []lineshaft.Code{notFound}, response: example("secret")},
		"updateSecret": {
			tag: tagSecrets, summary: "Update a secret",
			text: "What is absent stays. Runs get a new value from their next execution on; webhooks when they are next enabled or their definition applies. " +
				"So it is with the credential that a webhook generated, too.",
			codes: []lineshaft.Code{notFound, conflict, tooLarge}, request: json.RawMessage(`{"value":"EXAMPLE-VALUE"}`), response: example("secret"),
		},
		"deleteSecret": {
			tag: tagSecrets, summary: "Delete a secret", status: http.StatusNoContent,
			text: "One that a webhook, factory, agent, automation or environment names is 409.", codes: []lineshaft.Code{notFound, conflict},
		},
	}
}

func factoryDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listFactories": {
			tag: tagFactories, summary: "List factories", text: "Those that the key reaches, in the order of their making.", response: example("list_factories_response"),
		},
		"createFactory": {
			tag: tagFactories, summary: "Create a factory", status: http.StatusCreated,
			text: "It starts with a foreman. With a repository it follows that: its definition is put in force as soon as it has been read. " +
				"A key that is limited to factories cannot make one.",
			codes: []lineshaft.Code{conflict, notSupported}, request: example("create_factory_request"), response: example("factory"),
		},
		"getFactory": {tag: tagFactories, summary: "Get a factory", response: example("factory")},
		"updateFactory": {
			tag: tagFactories, summary: "Change a factory", text: "What is absent stays; an empty alias or description is taken away. " +
				"A factory that follows a repository is edited there: only paused and repository can be changed here, and null for repository makes it a managed one.",
			codes: []lineshaft.Code{conflict, notSupported}, request: example("update_factory_request"), response: example("factory"),
		},
		"syncRepository": {
			tag: tagFactories, summary: "Look at the repository of a factory now",
			text: "Puts in force what the branch has and answers what became of it; also a commit that was tried before is tried again. " +
				"Problems of the definition and a repository that cannot be read are told in repository, with 200. A managed factory is 409.",
			codes: []lineshaft.Code{conflict, notSupported}, response: example("repository_factory"),
		},
		"deleteFactory": {
			tag: tagFactories, summary: "Delete a factory", status: http.StatusNoContent,
			text:  "With its agents, automations and webhooks, and the secrets that were made for these. Its runs and the log of its deliveries stay.",
			codes: []lineshaft.Code{conflict},
		},
		"listTriggerEvents": {
			tag: tagFactories, summary: "List the events that triggers of a provider may name", text: "By name, with the keys that their filters may have.",
			codes: []lineshaft.Code{notFound}, response: example("list_trigger_events_response"),
		},
		"listAutomations": {tag: tagFactories, summary: "List automations", text: "Ordered by name.", response: example("list_automations_response")},
		"createAutomation": {
			tag: tagFactories, summary: "Create an automation", status: http.StatusCreated, large: true,
			text:  "Starts a run of its agent for each delivery that one of its triggers matches.",
			codes: []lineshaft.Code{conflict, notSupported}, request: example("create_automation_request"), response: example("automation"),
		},
		"getAutomation": {tag: tagFactories, summary: "Get an automation", response: example("automation")},
		"updateAutomation": {
			tag: tagFactories, summary: "Change an automation", large: true,
			text:  "What is absent stays; triggers and config are replaced as a whole.",
			codes: []lineshaft.Code{conflict, notSupported}, request: example("update_automation_request"), response: example("automation"),
		},
		"deleteAutomation": {
			tag: tagFactories, summary: "Delete an automation", status: http.StatusNoContent, text: "Its runs stay.", codes: []lineshaft.Code{conflict},
		},
	}
}
