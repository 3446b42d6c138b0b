package api

import (
	"net/http"

	"github.com/lineshaft/lineshaft"
)

// The documentation and examples of agents and of work for a factory.

const exampleAgentUID = "01980f22-1122-7334-8556-778899aabbcc"

func agentDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listAgentIdentities": {
			tag: tagAgents, summary: "List agents", text: "All that the key reaches, by factory and name.", response: exampleIdentities(),
		},
		"createAgent": {
			tag: tagAgents, summary: "Create an agent", status: http.StatusCreated, large: true,
			text:  "In a factory, or of the whole team. Runs that name it with agent_identity_uid take its configuration and factory.",
			codes: []lineshaft.Code{conflict, tooLarge, notSupported}, request: exampleAgentRequest(), response: exampleAgent(),
		},
		"getAgent": {tag: tagAgents, summary: "Get an agent", response: exampleAgent()},
		"updateAgent": {
			tag: tagAgents, summary: "Change an agent", large: true,
			text:  "What is absent or null stays, an empty value is taken away. FOREMAN as agent_type takes that part from the agent that has it.",
			codes: []lineshaft.Code{conflict, tooLarge, notSupported}, request: exampleAgentUpdate(), response: exampleAgent(),
		},
		"deleteAgent": {
			tag: tagAgents, summary: "Delete an agent", status: http.StatusNoContent,
			text:  "The foreman cannot go (400), nor one that an automation or a schedule names (409). Its runs stay.",
			codes: []lineshaft.Code{conflict},
		},
		"createFactoryRun": {
			tag: tagFactories, summary: "Give work to a factory", large: true, idempotent: true,
			text:  "Starts a run of the foreman, also while the factory is paused: the pause is for automations. The ticket becomes metadata: ticket_source, ticket_id, ticket_url.",
			codes: []lineshaft.Code{conflict, tooLarge, mismatch, budget}, request: exampleFactoryRunRequest(), response: exampleFactoryRun(),
		},
	}
}

func agentExamples() map[string]any {
	return map[string]any{
		"create_agent_request":           exampleAgentRequest(),
		"update_agent_request":           exampleAgentUpdate(),
		"agent_response":                 exampleAgent(),
		"list_agent_identities_response": exampleIdentities(),
		"factory_run_request":            exampleFactoryRunRequest(),
		"factory_run_response":           exampleFactoryRun(),
	}
}

func exampleAgentRequest() CreateAgentRequest {
	return CreateAgentRequest{
		Name: "reviewer", AgentType: "REVIEW", FactoryUID: exampleFactoryUID,
		AgentSettings: AgentSettings{
			Description: ptr("Reads pull requests."), Prompt: ptr("You review code. Be brief."), BaseModel: ptr("sonnet"),
			Secrets: []SecretRef{{"FORGE_TOKEN"}}, Skills: []string{"acme/skills:review"},
		},
	}
}

func exampleAgentUpdate() UpdateAgentRequest {
	return UpdateAgentRequest{AgentType: ptr(AgentType("FOREMAN")), AgentSettings: AgentSettings{Description: ptr(""), Secrets: []SecretRef{{"FORGE_TOKEN"}, {"TRACKER_TOKEN"}}}}
}

func exampleAgent() AgentResponse {
	return AgentResponse{
		UID: exampleAgentUID, Name: "reviewer", Available: true, AgentType: "REVIEW", FactoryUID: exampleFactoryUID, Description: "Reads pull requests.",
		Prompt: "You review code. Be brief.", BaseModel: "sonnet", Secrets: []SecretRef{{"FORGE_TOKEN"}}, Skills: []string{"acme/skills:review"},
		Memory: AgentMemory{AttachedStores: []Object{}}, CreatedAt: exampleCreatedAt, UpdatedAt: exampleFinishedAt,
	}
}

func exampleIdentities() ListAgentIdentitiesResponse {
	return ListAgentIdentitiesResponse{Agents: []AgentResponse{exampleAgent()}}
}

func exampleFactoryRunRequest() FactoryRunRequest {
	return FactoryRunRequest{Prompt: "Mend the checkout page.", TicketRef: "linear:SHOP-42", TicketURL: "https://tracker.example/SHOP-42"}
}

func exampleFactoryRun() FactoryRunResponse {
	return FactoryRunResponse{
		FactoryUID: exampleFactoryUID, ForemanAgent: "foreman", RunID: exampleRunID, State: "QUEUED", TicketRef: "linear:SHOP-42", RunURL: exampleBase + "/runs/" + exampleRunID,
	}
}
