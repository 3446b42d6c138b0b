package api

import (
	"net/http"

	"github.com/lineshaft/lineshaft"
)

const exampleEnvironmentUID = "7hQ2mXv9LkD4sTfR1bWcYz"

// The examples and descriptions of environments.

func environmentExamples() map[string]any {
	return map[string]any{
		"environment_request":        exampleEnvironmentRequest(),
		"environment":                exampleEnvironment(),
		"list_environments_response": ListEnvironmentsResponse{Environments: []CloudEnvironment{exampleEnvironment()}},
	}
}

func exampleEnvironmentRequest() EnvironmentRequest {
	return EnvironmentRequest{Config: CloudEnvironmentConfig{
		Name: "shop", Description: ptr("The web shop with its dependencies."), DockerImage: "node:24",
		GithubRepos: []GithubRepo{{Owner: "acme", Repo: "shop"}}, SetupCommands: []string{"cd shop && npm ci"},
	}}
}

func exampleEnvironment() CloudEnvironment {
	return CloudEnvironment{
		UID: exampleEnvironmentUID, Config: exampleEnvironmentRequest().Config, LastUpdated: exampleCreatedAt,
		LastTaskRunTimestamp: ptr(exampleCreatedAt), LastTaskCreated: &EnvironmentTask{
			ID: exampleRunID, Title: "Mend the nightly build", State: "SUCCEEDED",
			CreatedAt: exampleCreatedAt, UpdatedAt: exampleFinishedAt, StartedAt: ptr(exampleStartedAt),
		},
		Scope: Scope{Type: "Team"}, Creator: exampleUser(), LastEditor: exampleUser(),
	}
}

func environmentDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listEnvironments": {
			tag: tagEnvironments, summary: "List environments", text: "All of them, newest change first: there is no paging, and a server has at most 500.",
			response: ListEnvironmentsResponse{Environments: []CloudEnvironment{exampleEnvironment()}},
		},
		"createEnvironment": {
			tag: tagEnvironments, summary: "Create an environment", status: http.StatusCreated,
			text: "What is made ready before an agent starts: repositories are cloned, then the set-up commands run. Naming a secret " +
				"grants it to every run in the environment.",
			codes: []lineshaft.Code{conflict, notSupported, tooLarge}, request: exampleEnvironmentRequest(), response: exampleEnvironment(),
		},
		"getEnvironment": {tag: tagEnvironments, summary: "Get an environment", codes: []lineshaft.Code{notFound}, response: exampleEnvironment()},
		"updateEnvironment": {
			tag: tagEnvironments, summary: "Replace an environment",
			text:  "The configuration is replaced as a whole. Runs get it from their next execution on.",
			codes: []lineshaft.Code{notFound, conflict, notSupported, tooLarge}, request: exampleEnvironmentRequest(), response: exampleEnvironment(),
		},
		"deleteEnvironment": {
			tag: tagEnvironments, summary: "Delete an environment", status: http.StatusNoContent,
			text: "One that a run which has not ended, a factory, an agent or an automation uses is 409.", codes: []lineshaft.Code{notFound, conflict},
		},
	}
}
