package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/definition"
)

// SchemaVersions lists the versions of definition files.
type SchemaVersions struct {
	Versions       []string `json:"versions"`
	CurrentVersion string   `json:"current_version"`
}

// SchemaDocuments has the JSON Schemas of a version by the kind of file.
type SchemaDocuments struct {
	Version   string            `json:"version"`
	Documents []string          `json:"documents" doc:"The names of the schemas in URLs."`
	Schemas   map[string]Object `json:"schemas"`
}

type (
	schemasInput struct {
		Version string `path:"version" doc:"The schemaVersion of a definition."`
	}
	schemaInput struct {
		Version  string `path:"version" doc:"The schemaVersion of a definition."`
		Document string `path:"document" doc:"The kind of file."`
	}
)

// schemaEnding ends the published names of schemas.
const schemaEnding = ".schema.json"

func (s *server) listSchemaVersions(context.Context, *struct{}) (*answer[SchemaVersions], error) {
	return reply(SchemaVersions{Versions: []string{definition.Version}, CurrentVersion: definition.Version}, nil)
}

func (s *server) listSchemas(_ context.Context, in *schemasInput) (*answer[SchemaDocuments], error) {
	out := SchemaDocuments{Version: in.Version, Schemas: map[string]Object{}}
	for name := range definition.Schemas() {
		schema, err := schemaOf(in.Version, name)
		if err != nil {
			return nil, err
		}
		out.Schemas[name] = schema
		out.Documents = append(out.Documents, name+schemaEnding)
	}
	slices.Sort(out.Documents)
	return reply(out, nil)
}

func (s *server) getSchema(_ context.Context, in *schemaInput) (*answer[Object], error) {
	return reply(schemaOf(in.Version, strings.TrimSuffix(strings.TrimSuffix(in.Document, schemaEnding), ".json")))
}

func schemaOf(version, document string) (Object, error) {
	schemas := definition.Schemas()
	text, ok := schemas[document]
	if version != definition.Version || !ok {
		return nil, &lineshaft.Error{
			Code:    lineshaft.CodeNotFound,
			Message: fmt.Sprintf("version %s has schemas for %s", definition.Version, strings.Join(slices.Sorted(maps.Keys(schemas)), ", ")),
		}
	}
	var schema Object
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, fmt.Errorf("read schema %s: %w", document, err)
	}
	return schema, nil
}

// validateWait is how long a folder of a stranger waits for its turn.
const validateWait = 2 * time.Second

// validateFiles checks a folder for any caller, without a factory.
func (s *server) validateFiles(ctx context.Context, in *given[PublishedFolder]) (*answer[ValidateFilesResponse], error) {
	// Anybody may ask, and a small text can be much work: one at a time, and not for long.
	wait, cancel := context.WithTimeout(ctx, validateWait)
	defer cancel()
	select {
	case s.validating <- struct{}{}:
		defer func() { <-s.validating }()
	case <-wait.Done():
		return nil, lineshaft.RateLimited(validateWait, "too many folders are being checked; try again, or use lineshaft factory validate, which needs no server")
	}
	files, err := folderOf(ctx, DefinitionRequest{Files: in.Body.Files})
	if err != nil {
		return nil, err
	}
	return reply(wireDiagnostics(factories.CheckDefinition(files)), nil)
}

// PublishedFolder is a folder in the form of this server or in the published one.
type PublishedFolder struct {
	Files FolderFiles `json:"files,omitempty"`
}

// FolderFiles are texts by path. On the wire they are also a list of paths and contents.
type FolderFiles map[string]string

// FolderFile is a file in the published form of a folder.
type FolderFile struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// Schema describes both forms.
func (FolderFiles) Schema(huma.Registry) *huma.Schema {
	text := func() *huma.Schema { return &huma.Schema{Type: huma.TypeString} }
	file := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{"path": text(), "content": text()}, Required: []string{"path", "content"}, AdditionalProperties: false}
	return &huma.Schema{
		Description: "Texts by path, such as factory.yaml and agents/foreman/agent.md, or a list of {path, content}.",
		OneOf:       []*huma.Schema{{Type: huma.TypeObject, AdditionalProperties: text()}, {Type: huma.TypeArray, Items: file}},
	}
}

// UnmarshalJSON reads both forms.
func (f *FolderFiles) UnmarshalJSON(data []byte) error {
	*f = FolderFiles{}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return json.Unmarshal(data, (*map[string]string)(f))
	}
	var list []FolderFile
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	for _, file := range list {
		if _, twice := (*f)[file.Path]; twice {
			return fmt.Errorf("the path %q is there twice", lineshaft.Clip(file.Path, 80))
		}
		(*f)[file.Path] = file.Content
	}
	return nil
}

// ValidateFilesResponse shows what is wrong with a folder, also in the published form.
type ValidateFilesResponse struct {
	ValidateDefinitionResponse
	SchemaVersion       string               `json:"schema_version"`
	Diagnostics         []Diagnostic         `json:"diagnostics" doc:"The problems that can be found without a server."`
	DeferredResolutions []DeferredResolution `json:"deferred_resolutions" doc:"What is looked up when the definition is applied."`
}

// Diagnostic is a problem in the published form.
type Diagnostic struct {
	Code    string `json:"code"`
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// DeferredResolution is a value that is looked up when a definition is applied.
type DeferredResolution struct {
	Path   string `json:"path"`
	Field  string `json:"field"`
	Kind   string `json:"kind"`
	Value  string `json:"value"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

func wireDiagnostics(c factories.CheckedDefinition) ValidateFilesResponse {
	return ValidateFilesResponse{
		ValidateDefinitionResponse: wireProblems(c.Validation), SchemaVersion: definition.Version, Diagnostics: each(c.Offline, wireDiagnostic),
		DeferredResolutions: each(c.Deferred, func(d *definition.Deferred) DeferredResolution { return DeferredResolution(*d) }),
	}
}

func wireDiagnostic(p *lineshaft.FileProblem) Diagnostic {
	message := p.Message
	if p.Hint != "" {
		message += "; " + p.Hint
	}
	return Diagnostic{Code: p.Code, Path: p.File, Line: p.Line, Column: p.Column, Message: message}
}
