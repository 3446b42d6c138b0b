package api

import (
	"encoding/json"

	"github.com/lineshaft/lineshaft"
)

func definitionDocs() map[string]operationDoc {
	const archive = " The body is JSON, or a tar.gz of the folder."
	return map[string]operationDoc{
		"validateDefinition": {
			tag: tagDefinitions, summary: "Check a definition for a factory", large: true, archive: true,
			text: "Finds every mistake at once: in the files, and in what they name on this server." + archive, request: example("validate_definition_request"), response: example("validate_definition_response"),
		},
		"planDefinition": {
			tag: tagDefinitions, summary: "Tell what applying a definition would do", large: true, archive: true,
			text: "Changes nothing. For every automation whose triggers change, the stored deliveries are tried again. " +
				"A definition with mistakes is 400 with all of them in problems." + archive, request: example("validate_definition_request"), response: example("plan_definition_response"),
		},
		"planFiles": {
			tag: tagDefinitions, summary: "Tell what making a factory of a definition would do", large: true, archive: true,
			text: "For a factory that is not there yet: holds the files against this server as applying them would, and changes nothing. " +
				"A definition with mistakes is 400 with all of them in problems." + archive,
			request: example("validate_definition_request"), response: example("plan_definition_response"),
		},
		"applyDefinition": {
			tag: tagDefinitions, summary: "Apply a definition", large: true, archive: true,
			text: "All or nothing: the factory becomes what the folder says, or stays as it is. A definition with mistakes is 400 with all of them in problems. " +
				"A factory that follows a repository is 409." + archive,
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
			tag: tagDefinitions, summary: "Check a definition by itself", archive: true,
			text: "Needs no key, and knows no factory: what the files name on a server is not checked, and listed in deferred_resolutions. " +
				"files is an object of texts by path, or a list of {path, content}. diagnostics are the problems with their published codes." + archive,
			request: example("validate_files_request"), response: example("validate_files_response"),
		},
	}
}
