package api

import (
	"net/http"

	"github.com/lineshaft/lineshaft"
)

func agentDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listAgentIdentities": {
			tag: tagAgents, summary: "List agents", text: "All that the key reaches, by factory and name.", response: example("list_agent_identities_response"),
		},
		"createAgent": {
			tag: tagAgents, summary: "Create an agent", status: http.StatusCreated, large: true,
			text:  "In a factory, or of the whole team. Runs that name it with agent_identity_uid take its configuration and factory.",
			codes: []lineshaft.Code{conflict, tooLarge, notSupported}, request: example("create_agent_request"), response: example("agent_response"),
		},
		"getAgent": {tag: tagAgents, summary: "Get an agent", response: example("agent_response")},
		"updateAgent": {
			tag: tagAgents, summary: "Change an agent", large: true,
			text:  "What is absent or null stays, an empty value is taken away. FOREMAN as agent_type takes that part from the agent that has it.",
			codes: []lineshaft.Code{conflict, tooLarge, notSupported}, request: example("update_agent_request"), response: example("agent_response"),
		},
		"deleteAgent": {
			tag: tagAgents, summary: "Delete an agent", status: http.StatusNoContent,
			text:  "The foreman cannot go (400), nor one that an automation or a schedule names (409). Its runs stay.",
			codes: []lineshaft.Code{conflict},
		},
		"createFactoryRun": {
			tag: tagFactories, summary: "Give work to a factory", large: true, idempotent: true,
			text:  "Starts a run of the foreman, also while the factory is paused: the pause is for automations. The ticket becomes metadata: ticket_source, ticket_id, ticket_url.",
			codes: []lineshaft.Code{conflict, tooLarge, mismatch, budget}, request: example("factory_run_request"), response: example("factory_run_response"),
		},
	}
}
