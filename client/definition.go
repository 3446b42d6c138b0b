package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

const definitionPath = "/factory/{factory}/definition"

// String shows the problem in one line, as compilers do.
func (p FileProblem) String() string {
	text := p.File
	if p.Line > 0 {
		text = fmt.Sprintf("%s:%d:%d", text, p.Line, p.Column)
	}
	text += ": " + p.Message
	if p.Hint != "" {
		text += " (" + p.Hint + ")"
	}
	return text
}

// Validate finds every mistake of a folder, also in what it names on the server.
func (s *DefinitionsService) Validate(ctx context.Context, factoryUID string, files map[string]string) (*DefinitionValidation, error) {
	return look[DefinitionValidation](ctx, s, at(definitionPath+"/validate", factoryUID), nil, files)
}

// ValidateFiles finds every mistake in the files of a folder, without a factory.
func (s *DefinitionsService) ValidateFiles(ctx context.Context, files map[string]string) (*DefinitionValidation, error) {
	return look[DefinitionValidation](ctx, s, at("/factory-files/validate"), nil, files)
}

// Plan says what applying a folder would do, and what its changed automations would
// make of the stored deliveries. A folder with mistakes is an *Error with Problems.
func (s *DefinitionsService) Plan(ctx context.Context, factoryUID string, files map[string]string) (*DefinitionPlan, error) {
	return look[DefinitionPlan](ctx, s, at(definitionPath+"/plan", factoryUID), nil, files)
}

// PlanFiles is Plan for a factory that does not exist yet.
func (s *DefinitionsService) PlanFiles(ctx context.Context, files map[string]string) (*DefinitionPlan, error) {
	return look[DefinitionPlan](ctx, s, at("/factory-files/plan"), nil, files)
}

// Drift says how a factory differs from a folder.
func (s *DefinitionsService) Drift(ctx context.Context, factoryUID string, files map[string]string) (*DefinitionPlan, error) {
	return look[DefinitionPlan](ctx, s, at(definitionPath+"/plan", factoryUID), query("drift", "true"), files)
}

// look sends a folder without changing anything.
func look[T any](ctx context.Context, s *DefinitionsService, to place, with url.Values, files map[string]string) (*T, error) {
	return receive[T](ctx, s.c, call{method: http.MethodPost, place: to, query: with, body: DefinitionRequest{Files: files}, replay: true})
}

// Schema reads the schema of one kind of file, such as "automation".
func (s *DefinitionsService) Schema(ctx context.Context, version, document string) (json.RawMessage, error) {
	out, err := get[json.RawMessage](ctx, s.c, at("/factory-files/schemas/{schema version}/{schema}", version, document), nil)
	if err != nil {
		return nil, err
	}
	return *out, nil
}
