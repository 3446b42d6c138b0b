package api

import "github.com/lineshaft/lineshaft"

// The words and examples of definitions.

func definitionExamples() map[string]any {
	return map[string]any{
		"apply_definition_request":     exampleApplyRequest(),
		"apply_definition_response":    exampleApplied(),
		"plan_definition_response":     examplePlan(),
		"validate_definition_request":  exampleFolder(),
		"validate_definition_response": exampleValidation(),
		"factory_definition":           exampleDefinition(),
		"list_revisions_response":      exampleRevisions(),
		"revision":                     exampleRevision(),
		"schema_versions_response":     SchemaVersions{Versions: []string{"v1alpha1"}, CurrentVersion: "v1alpha1"},
	}
}

func definitionDocs() map[string]operationDoc {
	const archive = " The body is JSON, or a tar.gz of the folder."
	return map[string]operationDoc{
		"validateDefinition": {
			tag: tagDefinitions, summary: "Check a definition for a factory", large: true, archive: true,
			text: "Finds every mistake at once: in the files, and in what they name on this server." + archive, request: exampleFolder(), response: exampleValidation(),
		},
		"planDefinition": {
			tag: tagDefinitions, summary: "Tell what applying a definition would do", large: true, archive: true,
			text: "Changes nothing. For every automation whose triggers change, the stored deliveries are tried again. " +
				"A definition with mistakes is 400 with all of them in problems." + archive, request: exampleFolder(), response: examplePlan(),
		},
		"planFiles": {
			tag: tagDefinitions, summary: "Tell what making a factory of a definition would do", large: true, archive: true,
			text: "For a factory that is not there yet: holds the files against this server as applying them would, and changes nothing. " +
				"A definition with mistakes is 400 with all of them in problems." + archive, request: exampleFolder(), response: examplePlan(),
		},
		"applyDefinition": {
			tag: tagDefinitions, summary: "Apply a definition", large: true, archive: true,
			text: "All or nothing: the factory becomes what the folder says, or stays as it is. A definition with mistakes is 400 with all of them in problems. " +
				"A factory that follows a repository is 409." + archive,
			codes: []lineshaft.Code{conflict}, request: exampleApplyRequest(), response: exampleApplied(),
		},
		"getDefinition": {
			tag: tagDefinitions, summary: "Export a factory", text: "As JSON, or with Accept: application/gzip as a tar.gz. Applying it again changes nothing.", response: exampleDefinition(),
		},
		"listRevisions": {tag: tagDefinitions, summary: "List the revisions of a definition", text: "Newest first.", response: exampleRevisions()},
		"getRevision":   {tag: tagDefinitions, summary: "Get a revision with its files", response: exampleRevision()},
		"rollbackDefinition": {
			tag: tagDefinitions, summary: "Go back to a revision", text: "Applies the files of that revision, as a new one.", codes: []lineshaft.Code{conflict}, response: exampleApplied(),
		},
		"listSchemaVersions": {tag: tagDefinitions, summary: "List the versions of definition files", text: "Needs no key.", response: SchemaVersions{Versions: []string{"v1alpha1"}, CurrentVersion: "v1alpha1"}},
		"listSchemas":        {tag: tagDefinitions, summary: "Get the JSON Schemas of a version", text: "Needs no key.", response: exampleSchemaDocuments()},
		"getSchema":          {tag: tagDefinitions, summary: "Get the JSON Schema of a kind of file", text: "Needs no key.", response: Object{"type": "object"}},
		"validateFiles": {
			tag: tagDefinitions, summary: "Check a definition by itself", archive: true,
			text: "Needs no key, and knows no factory: what the files name on a server is not checked, and listed in deferred_resolutions. " +
				"files is an object of texts by path, or a list of {path, content}. diagnostics are the problems with their published codes." + archive,
			request: examplePublishedFolder(), response: exampleDiagnostics(),
		},
	}
}

func exampleFiles() map[string]string {
	return map[string]string{
		"factory.yaml":            "schemaVersion: v1alpha1\nname: Web shop\n",
		"agents/foreman/agent.md": "---\nagentType: FOREMAN\n---\nYou look after the shop.\n",
		"webhooks/issues.yaml":    "authMode: signature\nsignatureScheme: github\nsecretName: ISSUES_WEBHOOK_SECRET\n",
		"automations/triage/automation.md": "---\ntriggers:\n  - provider: webhook\n    event: received\n    filter:\n      webhooks: [issues]\n" +
			"      payload:\n        action: [opened]\n---\nFind out what the new issue is about and label it.\n",
	}
}

func exampleFolder() DefinitionRequest { return DefinitionRequest{Files: exampleFiles()} }

func exampleApplyRequest() ApplyDefinitionRequest {
	return ApplyDefinitionRequest{DefinitionRequest: exampleFolder(), Comment: "Triage new issues only", IfRevision: 6}
}

func exampleChanges() []DefinitionChange {
	return []DefinitionChange{{
		Action: "change", Kind: "automation", Name: "triage", File: "automations/triage/automation.md",
		Fields: []DefinitionFieldChange{{Field: "triggers[0].filter.payload.action", Before: "[opened, edited]", After: "[opened]"}},
	}}
}

func exampleApplied() ApplyDefinitionResponse {
	return ApplyDefinitionResponse{Revision: 7, Changed: true, Changes: exampleChanges(), Unused: []string{}, Notices: []lineshaft.FileProblem{}}
}

func examplePlan() PlanDefinitionResponse {
	return PlanDefinitionResponse{
		Revision: 6, Changes: exampleChanges(), Problems: []lineshaft.FileProblem{}, Unused: []string{}, Notices: exampleNotices(),
		Backtests: []DefinitionBacktest{{Automation: "triage", Action: "change", Deliveries: 812, Starts: 0, Stops: 214}},
	}
}

func exampleValidation() ValidateDefinitionResponse {
	return ValidateDefinitionResponse{Problems: []lineshaft.FileProblem{{
		File: "webhooks/issues.yaml", Line: 1, Column: 1, Message: "authmode: there is no such key", Hint: "did you mean authMode?", Code: "FF_UNKNOWN_FIELD",
	}}, Unused: []string{}, Notices: exampleNotices()}
}

func exampleNotices() []lineshaft.FileProblem {
	return []lineshaft.FileProblem{{
		File: "factory.yaml", Line: 3, Column: 1, Message: "integrations: has no effect on this server: it is connected to no such tool; let the tool send to a webhook",
	}}
}

func examplePublishedFolder() PublishedFolder {
	return PublishedFolder{Files: FolderFiles{"factory.yaml": "schemaVersion: v1alpha1\nname: Web shop\n"}}
}

func exampleDiagnostics() ValidateFilesResponse {
	return ValidateFilesResponse{
		ValidateDefinitionResponse: exampleValidation(), SchemaVersion: "v1alpha1",
		Diagnostics:         []Diagnostic{{Code: "FF_UNKNOWN_FIELD", Path: "webhooks/issues.yaml", Line: 1, Column: 1, Message: "authmode: there is no such key; did you mean authMode?"}},
		DeferredResolutions: []DeferredResolution{{Path: "webhooks/issues.yaml", Field: "secretName", Kind: "secret", Value: "ISSUES_WEBHOOK_SECRET", Line: 3, Column: 13}},
	}
}

func exampleDefinition() FactoryDefinition {
	return FactoryDefinition{Revision: 7, Files: exampleFiles()}
}

func exampleRevisionRow() DefinitionRevision {
	return DefinitionRevision{
		Number: 7, Source: "apply", Actor: RunCreatorInfo{Type: "user", UID: "user-7", DisplayName: "Ada"}, Comment: "Triage new issues only",
		FileCount: 4, CreatedAt: exampleCreatedAt,
	}
}

func exampleRevisions() ListRevisionsResponse {
	return ListRevisionsResponse{Revisions: []DefinitionRevision{exampleRevisionRow()}}
}

func exampleRevision() DefinitionRevisionDetail {
	return DefinitionRevisionDetail{DefinitionRevision: exampleRevisionRow(), Files: exampleFiles()}
}

func exampleSchemaDocuments() SchemaDocuments {
	return SchemaDocuments{Version: "v1alpha1", Documents: []string{"webhook.schema.json"}, Schemas: map[string]Object{"webhook": {"type": "object"}}}
}
