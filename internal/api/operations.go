package api

import (
	"encoding/json"
	"maps"
	"net/http"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/api/examples"
)

// operationDoc is what the OpenAPI document says about an operation beyond its types,
// and what the guard must know.
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
	// archive operations also take a tar.gz of a folder.
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
	for _, group := range []map[string]operationDoc{
		runDocs(), logDocs(), serverDocs(), factoryDocs(), webhookDocs(), secretDocs(), deliveryDocs(), definitionDocs(), agentDocs(),
		environmentDocs(), scheduleDocs(), notificationDocs(),
	} {
		maps.Copy(all, group)
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
			text:  "Queues a run and answers once it is durable. Watch it with getRun or getRunEvents.",
			codes: []lineshaft.Code{notFound, conflict, tooLarge, notSupported, mismatch, budget}, request: example("run_agent_request"), response: example("run_agent_response"),
		},
		"listRuns": {
			tag: tagRuns, summary: "List runs", text: "All conditions must hold. Newest change first, unless sort_by says otherwise.",
			codes: []lineshaft.Code{notFound}, response: example("list_runs_response"),
		},
		"getRun": {tag: tagRuns, summary: "Get a run", codes: []lineshaft.Code{notFound}, response: example("run_item")},
		"deleteRun": {
			tag: tagRuns, summary: "Delete a run", status: http.StatusNoContent,
			text: "Removes an ended run with its log and artifacts. A live run is answered with 409: cancel it first.", codes: []lineshaft.Code{notFound, conflict},
		},
		"cancelRun": {
			tag: tagRuns, summary: "Cancel a run", idempotent: true,
			text:  "The run is CANCELLED when this answers; its processes are gone within 10 seconds. A run that has ended is answered with 400.",
			codes: []lineshaft.Code{notFound, conflict, mismatch}, response: json.RawMessage(`"01980f6e-5b7c-7c1a-9d53-0c8a7f3e2b11"`),
		},
		"cancelRuns": {
			tag: tagRuns, summary: "Cancel runs by filter", text: "Cancels every live run that the filter selects.",
			codes: []lineshaft.Code{tooLarge}, request: example("cancel_runs_request"), response: json.RawMessage(`{"cancelled":["01980f6e-5b7c-7c1a-9d53-0c8a7f3e2b11"]}`),
		},
		"submitRunFollowup": {
			tag: tagRuns, summary: "Send a follow-up", large: true, idempotent: true,
			text:  "Adds a message to a run: before it starts, while it works, or after it has ended (which reopens it).",
			codes: []lineshaft.Code{notFound, conflict, tooLarge, notSupported, mismatch}, request: example("run_followup_request"), response: example("run_followup_response"),
		},
		"interruptRun": {
			tag: tagRuns, summary: "Interrupt the current turn", status: http.StatusAccepted,
			text: "Stops what the agent is doing now; the run stays INPROGRESS, and a follow-up continues it. " +
				"One that is CLAIMED is interrupted as soon as its agent begins.",
			codes: []lineshaft.Code{notFound, conflict},
		},
		"reportRun": {
			tag: tagRuns, summary: "Report on your own run",
			text: "For agents: puts a message, notice, plan or address into the log of the run whose run token the caller has, while its execution is active. " +
				"Values of the run's secrets are masked. An address becomes an artifact.",
			codes: []lineshaft.Code{notFound, conflict}, request: example("run_report_request"), response: example("run_report_response"),
		},
		"reportArtifact": {
			tag: tagArtifacts, summary: "Report a file of your own run", upload: true,
			text:  "For agents: the body is the content, of at most 100 MB. Files in $LINESHAFT_ARTIFACTS are stored at the end of a turn without this.",
			codes: []lineshaft.Code{notFound, conflict, tooLarge}, response: example("run_report_response"),
		},
		"rerunRun": {
			tag: tagRuns, summary: "Run again", text: "Starts a new run with the same request.",
			codes: []lineshaft.Code{notFound, conflict}, response: example("run_agent_response"),
		},
		"getRunByExternalReferenceURL": {
			tag: tagRuns, summary: "Find a run by what it produced", text: "The newest run that reported this address as an artifact.",
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
			tag: tagArtifacts, summary: "List the files that were attached to a run", codes: []lineshaft.Code{notFound}, response: example("attachments_response"),
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
				"A viewer may name a repository of an environment or a factory; callers who may start runs may name any that the server can read.",
			codes: []lineshaft.Code{notFound, notSupported}, response: example("list_agents_response"),
		},
		"listModels": {tag: tagServer, summary: "List what this server can run", response: example("models_response")},
		"listConnectedSelfHostedWorkers": {
			tag: tagServer, summary: "List the connected workers", response: example("workers_response"),
		},
		"listEgressRanges": {tag: tagServer, summary: "List egress addresses", response: json.RawMessage(`{"cidrs":[]}`)},
		"whoami":           {tag: tagAccess, summary: "Show whose key this is", response: example("whoami_response")},
		"listAPIKeys":      {tag: tagAccess, summary: "List API keys", response: example("list_apikeys_response")},
		"createAPIKey": {
			tag: tagAccess, summary: "Create an API key", status: http.StatusCreated, text: "The answer contains the key, only this once.",
			codes: []lineshaft.Code{conflict, tooLarge}, request: example("create_apikey_request"), response: example("create_apikey_response"),
		},
		"revokeAPIKey": {tag: tagAccess, summary: "Revoke an API key", status: http.StatusNoContent, codes: []lineshaft.Code{notFound}},
		"listAudit":    {tag: tagAccess, summary: "Read the audit log", text: "Newest first.", response: example("audit_response")},
	}
}

func secretDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listSecrets": {tag: tagSecrets, summary: "List secrets", text: "By name; values are never shown.", response: example("list_secrets_response")},
		"createSecret": {
			tag: tagSecrets, summary: "Create a secret", status: http.StatusCreated,
			text:  "The value is stored encrypted and cannot be read again. Runs that name the secret get it as a variable of its name.",
			codes: []lineshaft.Code{conflict, tooLarge}, request: example("create_secret_request"), response: example("secret"),
		},
		"getSecret": {tag: tagSecrets, summary: "Get a secret", text: "Without its value.", codes: []lineshaft.Code{notFound}, response: example("secret")},
		"updateSecret": {
			tag: tagSecrets, summary: "Update a secret",
			text: "What is absent stays. Runs get a new value from their next execution on; webhooks when they are next enabled or their definition applies. " +
				"This also holds for a credential that was generated for a webhook.",
			codes: []lineshaft.Code{notFound, conflict, tooLarge}, request: json.RawMessage(`{"value":"EXAMPLE-VALUE"}`), response: example("secret"),
		},
		"deleteSecret": {
			tag: tagSecrets, summary: "Delete a secret", status: http.StatusNoContent,
			text: "A secret that a webhook, factory, agent, automation or environment names is answered with 409.", codes: []lineshaft.Code{notFound, conflict},
		},
	}
}

func factoryDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listFactories": {
			tag: tagFactories, summary: "List factories", text: "Those that the key reaches, oldest first.", response: example("list_factories_response"),
		},
		"createFactory": {
			tag: tagFactories, summary: "Create a factory", status: http.StatusCreated,
			text: "It starts with a foreman. If you name a repository, it follows that: its definition is applied as soon as it has been read. " +
				"A key that is limited to factories cannot create one.",
			codes: []lineshaft.Code{conflict, notSupported}, request: example("create_factory_request"), response: example("factory"),
		},
		"getFactory": {tag: tagFactories, summary: "Get a factory", response: example("factory")},
		"updateFactory": {
			tag: tagFactories, summary: "Change a factory", text: "What is absent stays; an empty alias or description is removed. " +
				"A factory that follows a repository is edited there: only paused and repository can be changed here, and null for repository makes it a managed one.",
			codes: []lineshaft.Code{conflict, notSupported}, request: example("update_factory_request"), response: example("factory"),
		},
		"syncRepository": {
			tag: tagFactories, summary: "Read the repository of a factory now",
			text: "Applies what the branch has and answers with the result; a commit that was tried before is tried again. " +
				"Problems of the definition and a repository that cannot be read are reported in repository, with 200. A managed factory is answered with 409.",
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

func agentDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listAgentIdentities": {
			tag: tagAgents, summary: "List agents", text: "All that your key may see, by factory and name.", response: example("list_agent_identities_response"),
		},
		"createAgent": {
			tag: tagAgents, summary: "Create an agent", status: http.StatusCreated, large: true,
			text:  "In a factory, or for the whole team. Runs that name it with agent_identity_uid take its configuration and factory.",
			codes: []lineshaft.Code{conflict, tooLarge, notSupported}, request: example("create_agent_request"), response: example("agent_response"),
		},
		"getAgent": {tag: tagAgents, summary: "Get an agent", response: example("agent_response")},
		"updateAgent": {
			tag: tagAgents, summary: "Change an agent", large: true,
			text:  "What is absent or null stays; an empty value is removed. FOREMAN as agent_type replaces the current foreman.",
			codes: []lineshaft.Code{conflict, tooLarge, notSupported}, request: example("update_agent_request"), response: example("agent_response"),
		},
		"deleteAgent": {
			tag: tagAgents, summary: "Delete an agent", status: http.StatusNoContent,
			text:  "You cannot delete the foreman (400), or one that an automation or a schedule names (409). Its runs stay.",
			codes: []lineshaft.Code{conflict},
		},
		"createFactoryRun": {
			tag: tagFactories, summary: "Give work to a factory", large: true, idempotent: true,
			text:  "Starts a run of the foreman, even while the factory is paused: only its automations are paused. The ticket becomes metadata: ticket_source, ticket_id, ticket_url.",
			codes: []lineshaft.Code{conflict, tooLarge, mismatch, budget}, request: example("factory_run_request"), response: example("factory_run_response"),
		},
	}
}

func webhookDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listWebhooks": {tag: tagWebhooks, summary: "List webhooks", text: "All of the factory, by name.", codes: []lineshaft.Code{notFound}, response: example("list_webhooks_response")},
		"createWebhook": {
			tag: tagWebhooks, summary: "Create a webhook", status: http.StatusCreated,
			text: "A secret that the server generates is only in this answer. You may leave out a secret that the provider issues: " +
				"the webhook is then created disabled with needs_secret, and rotateWebhook takes the secret. At most 20 per factory.",
			codes: []lineshaft.Code{notFound, conflict}, request: example("create_webhook_request"), response: example("create_webhook_response"),
		},
		"getWebhook": {tag: tagWebhooks, summary: "Get a webhook", codes: []lineshaft.Code{notFound}, response: example("webhook")},
		"updateWebhook": {
			tag: tagWebhooks, summary: "Change a webhook", text: "What is absent stays. Senders of a disabled webhook get 404 at once.",
			codes: []lineshaft.Code{notFound, conflict, notSupported}, request: example("update_webhook_request"), response: example("webhook"),
		},
		"rotateWebhook": {
			tag: tagWebhooks, summary: "Replace the secret of a webhook",
			text: "The old secret ends at once, or after overlap_seconds. A webhook that waits for its provider's secret is enabled with it. " +
				"A webhook that uses a managed secret is answered with 409: change the value of that secret instead.",
			codes: []lineshaft.Code{notFound, conflict}, request: example("rotate_webhook_request"), response: example("create_webhook_response"),
		},
		"deleteWebhook": {
			tag: tagWebhooks, summary: "Delete a webhook", status: http.StatusNoContent,
			text: "Senders get 404 at once. Its log stays until it expires; automations that select it stay, but do not fire.", codes: []lineshaft.Code{notFound, conflict},
		},
	}
}

func deliveryDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listDeliveries": {
			tag: tagWebhooks, summary: "Read the log of a webhook",
			text:  "Newest first; also for a deleted webhook. Deliveries that are older than 7 days and not among the newest 50 are removed.",
			codes: []lineshaft.Code{notFound}, response: example("list_deliveries_response"),
		},
		"listFactoryDeliveries": {
			tag: tagWebhooks, summary: "Read the logs of a factory",
			text:  "Deliveries to all live webhooks of the factory, newest first.",
			codes: []lineshaft.Code{notFound}, response: example("list_factory_deliveries_response"),
		},
		"testWebhook": {
			tag: tagWebhooks, summary: "Send a test event",
			text: "The server signs the event with the webhook's own secret and treats it as if its sender had sent it: " +
				"it counts against the rate limit, is in the log, marked as a test, and starts what matches.",
			codes: []lineshaft.Code{notFound, conflict}, request: example("test_webhook_request"), response: example("test_webhook_response"),
		},
		"getDelivery": {
			tag: tagWebhooks, summary: "Get a delivery", text: "With its payload, if it was accepted.",
			codes: []lineshaft.Code{notFound}, response: example("delivery"),
		},
		"redeliver": {
			tag: tagWebhooks, summary: "Deliver again", status: http.StatusAccepted, idempotent: true,
			text: "Evaluates a stored delivery with the current automations, under a new id. The rate limit and the identity are not checked, and this works for a disabled webhook. " +
				"Only accepted deliveries can be repeated; for a duplicate, repeat the first one. A dry run, asked for in the body or the query, stores and starts nothing.",
			codes: []lineshaft.Code{notFound, conflict, mismatch}, request: example("redeliver_request"), response: example("redeliver_response"),
		},
		"testFilter": {
			nul: true, tag: tagWebhooks, summary: "Try a filter", large: true,
			text:  "Against a stored delivery or a given payload. Nothing is stored or started.",
			codes: []lineshaft.Code{notFound, conflict}, request: example("test_filter_request"), response: example("test_filter_response"),
		},
	}
}

func definitionDocs() map[string]operationDoc {
	const archive = " The body is JSON, or a tar.gz of the folder."
	return map[string]operationDoc{
		"validateDefinition": {
			tag: tagDefinitions, summary: "Check a definition for a factory", large: true, archive: true,
			text: "Finds every mistake at once: in the files, and in what they name on this server." + archive, request: example("validate_definition_request"), response: example("validate_definition_response"),
		},
		"planDefinition": {
			tag: tagDefinitions, summary: "Show what applying a definition would do", large: true, archive: true,
			text: "Changes nothing. For each automation whose triggers change, the stored deliveries are tried again. " +
				"A definition with mistakes is answered with 400 and all of them in problems." + archive, request: example("validate_definition_request"), response: example("plan_definition_response"),
		},
		"planFiles": {
			tag: tagDefinitions, summary: "Show what creating a factory from a definition would do", large: true, archive: true,
			text: "For a factory that does not exist yet: checks the files against this server as applying them would, and changes nothing. " +
				"A definition with mistakes is answered with 400 and all of them in problems." + archive,
			request: example("validate_definition_request"), response: example("plan_definition_response"),
		},
		"applyDefinition": {
			tag: tagDefinitions, summary: "Apply a definition", large: true, archive: true,
			text: "All or nothing: the factory becomes what the files say, or stays as it is. A definition with mistakes is answered with 400 and all of them in problems. " +
				"A factory that follows a repository is answered with 409." + archive,
			codes: []lineshaft.Code{conflict}, request: example("apply_definition_request"), response: example("apply_definition_response"),
		},
		"getDefinition": {
			tag: tagDefinitions, summary: "Export a factory", text: "As JSON, or with Accept: application/gzip as a tar.gz. Applying it again changes nothing.", response: example("factory_definition"),
		},
		"listRevisions": {tag: tagDefinitions, summary: "List the revisions of a definition", text: "Newest first.", response: example("list_revisions_response")},
		"getRevision":   {tag: tagDefinitions, summary: "Get a revision with its files", response: example("revision")},
		"rollbackDefinition": {
			tag: tagDefinitions, summary: "Go back to a revision", text: "Applies the files of that revision, as a new one.", codes: []lineshaft.Code{conflict}, response: example("apply_definition_response"),
		},
		"listSchemaVersions": {tag: tagDefinitions, summary: "List the versions of definition files", text: "Needs no key.", response: example("schema_versions_response")},
		"listSchemas":        {tag: tagDefinitions, summary: "Get the JSON Schemas of a version", text: "Needs no key.", response: example("list_schemas_response")},
		"getSchema":          {tag: tagDefinitions, summary: "Get the JSON Schema of a kind of file", text: "Needs no key.", response: json.RawMessage(`{"type":"object"}`)},
		"validateFiles": {
			tag: tagDefinitions, summary: "Check a definition without a factory", archive: true,
			text: "Needs no key, and knows no factory: what the files refer to on a server is not checked, but listed in deferred_resolutions. " +
				"files is an object of texts by path, or a list of {path, content}. diagnostics are the problems with their published codes." + archive,
			request: example("validate_files_request"), response: example("validate_files_response"),
		},
	}
}

func environmentDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listEnvironments": {
			tag: tagEnvironments, summary: "List environments", text: "All of them, newest change first. There is no paging; a server has at most 500.",
			response: example("list_environments_response"),
		},
		"createEnvironment": {
			tag: tagEnvironments, summary: "Create an environment", status: http.StatusCreated,
			text: "What is prepared before an agent starts: repositories are cloned, then the set-up commands run. Naming a secret " +
				"grants it to every run in the environment.",
			codes: []lineshaft.Code{conflict, notSupported, tooLarge}, request: example("environment_request"), response: example("environment"),
		},
		"getEnvironment": {tag: tagEnvironments, summary: "Get an environment", codes: []lineshaft.Code{notFound}, response: example("environment")},
		"updateEnvironment": {
			tag: tagEnvironments, summary: "Replace an environment",
			text:  "The configuration is replaced as a whole. Runs get it from their next execution on.",
			codes: []lineshaft.Code{notFound, conflict, notSupported, tooLarge}, request: example("environment_request"), response: example("environment"),
		},
		"deleteEnvironment": {
			tag: tagEnvironments, summary: "Delete an environment", status: http.StatusNoContent,
			text: "An environment that a live run, a factory, an agent or an automation uses is answered with 409.", codes: []lineshaft.Code{notFound, conflict},
		},
	}
}

func scheduleDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listScheduledAgents": {tag: tagSchedules, summary: "List schedules", text: "All of them, ordered by name.", response: example("list_schedules_response")},
		"createScheduledAgent": {
			tag: tagSchedules, summary: "Create a schedule", status: http.StatusCreated, large: true,
			text:  "Starts a run at set times, from now on. One run makes up for times that pass while the server is down. Beyond the limit, the answer is 409.",
			codes: []lineshaft.Code{conflict, tooLarge, notSupported}, request: example("create_schedule_request"), response: example("schedule"),
		},
		"getScheduledAgent": {tag: tagSchedules, summary: "Get a schedule", codes: []lineshaft.Code{notFound}, response: example("schedule")},
		"updateScheduledAgent": {
			tag: tagSchedules, summary: "Replace a schedule", large: true,
			text:  "What is absent is cleared. Another cron_schedule or timezone counts from now on.",
			codes: []lineshaft.Code{notFound, tooLarge, notSupported}, request: example("update_schedule_request"), response: example("schedule"),
		},
		"deleteScheduledAgent": {
			tag: tagSchedules, summary: "Delete a schedule", text: "Its runs stay.", codes: []lineshaft.Code{notFound}, response: json.RawMessage(`{"success":true}`),
		},
		"pauseScheduledAgent": {
			tag: tagSchedules, summary: "Pause a schedule", codes: []lineshaft.Code{notFound}, response: example("schedule"),
		},
		"resumeScheduledAgent": {
			tag: tagSchedules, summary: "Resume a schedule", text: "It fires from now on; times missed during the pause are skipped.",
			codes: []lineshaft.Code{notFound}, response: example("schedule"),
		},
	}
}

func notificationDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listNotifications": {tag: tagNotifications, summary: "List notifications", text: "All that your key may see, oldest first.", response: example("list_notifications_response")},
		"createNotification": {
			tag: tagNotifications, summary: "Create a notification", status: http.StatusCreated,
			text: "An endpoint that gets the state changes of runs as signed requests (Standard Webhooks). It gets every change from now on. " +
				"A secret that the server generates is only in this answer. At most 50 in all.",
			codes: []lineshaft.Code{conflict}, request: example("create_notification_request"), response: example("create_notification_response"),
		},
		"getNotification": {tag: tagNotifications, summary: "Get a notification", codes: []lineshaft.Code{notFound}, response: example("notification")},
		"updateNotification": {
			tag: tagNotifications, summary: "Change a notification",
			text:  "What is absent stays. While disabled, it gets nothing, and changes that happen meanwhile are not kept for it; when enabled again, it gets earlier pending deliveries that are younger than 72 hours.",
			codes: []lineshaft.Code{notFound}, request: example("update_notification_request"), response: example("notification"),
		},
		"deleteNotification": {
			tag: tagNotifications, summary: "Delete a notification", status: http.StatusNoContent, text: "Nothing more is sent. Its log is deleted with it.", codes: []lineshaft.Code{notFound},
		},
		"rotateNotification": {
			tag: tagNotifications, summary: "Replace the secret of a notification",
			text:  "The old secret ends at once, or after overlap_seconds: until then, callbacks carry a signature with each.",
			codes: []lineshaft.Code{notFound, conflict}, request: example("rotate_notification_request"), response: example("create_notification_response"),
		},
		"testNotification": {
			tag: tagNotifications, summary: "Send a test", status: http.StatusAccepted,
			text:  "Sends a callback of type notification.test, as state changes are sent. Watch it with getNotificationDelivery.",
			codes: []lineshaft.Code{notFound, conflict}, response: example("test_notification_response"),
		},
		"listNotificationDeliveries": {
			tag: tagNotifications, summary: "Read the log of a notification", text: "Newest first. Deliveries older than 30 days are removed.",
			codes: []lineshaft.Code{notFound}, response: example("list_notification_deliveries_response"),
		},
		"getNotificationDelivery": {
			tag: tagNotifications, summary: "Get a delivery to a notification", text: "With its attempts and its payload.",
			codes: []lineshaft.Code{notFound}, response: example("notification_delivery"),
		},
		"replayNotificationDelivery": {
			tag: tagNotifications, summary: "Send a delivery again", status: http.StatusAccepted,
			text:  "Makes it pending, with the same webhook-id and payload and another 72 hours. A receiver recognises a repeat by its webhook-id.",
			codes: []lineshaft.Code{notFound, conflict}, response: example("replay_notification_response"),
		},
	}
}
