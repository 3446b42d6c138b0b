package api

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/definition"
)

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
	Diagnostics         []Diagnostic         `json:"diagnostics" doc:"The problems that need no server to be found."`
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
	out := ValidateFilesResponse{
		ValidateDefinitionResponse: wireProblems(c.Validation), SchemaVersion: definition.Version,
		Diagnostics: []Diagnostic{}, DeferredResolutions: []DeferredResolution{},
	}
	for _, p := range c.Offline {
		message := p.Message
		if p.Hint != "" {
			message += "; " + p.Hint
		}
		out.Diagnostics = append(out.Diagnostics, Diagnostic{Code: p.Code, Path: p.File, Line: p.Line, Column: p.Column, Message: message})
	}
	for _, d := range c.Deferred {
		out.DeferredResolutions = append(out.DeferredResolutions, DeferredResolution(d))
	}
	return out
}
