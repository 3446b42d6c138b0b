package api

import (
	"net/http"

	"github.com/lineshaft/lineshaft"
)

func environmentDocs() map[string]operationDoc {
	return map[string]operationDoc{
		"listEnvironments": {
			tag: tagEnvironments, summary: "List environments", text: "All of them, newest change first: there is no paging, and a server has at most 500.",
			response: example("list_environments_response"),
		},
		"createEnvironment": {
			tag: tagEnvironments, summary: "Create an environment", status: http.StatusCreated,
			text: "What is made ready before an agent starts: repositories are cloned, then the set-up commands run. Naming a secret " +
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
			text: "One that a run which has not ended, a factory, an agent or an automation uses is 409.", codes: []lineshaft.Code{notFound, conflict},
		},
	}
}
