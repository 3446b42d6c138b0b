package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

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
	Documents []string          `json:"documents" doc:"What the schemas are called in addresses."`
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
	publicFolderInput    struct{ Body PublishedFolder }
	diagnosticsOutput    struct{ Body ValidateFilesResponse }
	schemaVersionsOutput struct{ Body SchemaVersions }
	schemasOutput        struct{ Body SchemaDocuments }
	schemaOutput         struct{ Body Object }
)

// schemaEnding ends the published names of schemas.
const schemaEnding = ".schema.json"

func (s *server) listSchemaVersions(context.Context, *struct{}) (*schemaVersionsOutput, error) {
	return &schemaVersionsOutput{SchemaVersions{Versions: []string{definition.Version}, CurrentVersion: definition.Version}}, nil
}

func (s *server) listSchemas(_ context.Context, in *schemasInput) (*schemasOutput, error) {
	out := &schemasOutput{SchemaDocuments{Version: in.Version, Schemas: map[string]Object{}}}
	for name := range definition.Schemas() {
		schema, err := schemaOf(in.Version, name)
		if err != nil {
			return nil, err
		}
		out.Body.Schemas[name] = schema
		out.Body.Documents = append(out.Body.Documents, name+schemaEnding)
	}
	slices.Sort(out.Body.Documents)
	return out, nil
}

func (s *server) getSchema(_ context.Context, in *schemaInput) (*schemaOutput, error) {
	schema, err := schemaOf(in.Version, strings.TrimSuffix(strings.TrimSuffix(in.Document, schemaEnding), ".json"))
	if err != nil {
		return nil, err
	}
	return &schemaOutput{schema}, nil
}

func schemaOf(version, document string) (Object, error) {
	schemas := definition.Schemas()
	text, ok := schemas[document]
	if version != definition.Version || !ok {
		return nil, &lineshaft.Error{
			Code:    lineshaft.CodeNotFound,
			Message: fmt.Sprintf("there are schemas of version %s for %s", definition.Version, strings.Join(slices.Sorted(maps.Keys(schemas)), ", ")),
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

// validateFiles checks a folder for whoever asks, without a factory.
func (s *server) validateFiles(ctx context.Context, in *publicFolderInput) (*diagnosticsOutput, error) {
	// Anybody may ask, and a small text can be much work: one at a time, and not for long.
	wait, cancel := context.WithTimeout(ctx, validateWait)
	defer cancel()
	select {
	case s.validating <- struct{}{}:
		defer func() { <-s.validating }()
	case <-wait.Done():
		return nil, lineshaft.RateLimited(validateWait, "others are having folders checked; try again, or use lineshaft factory validate, which needs no server")
	}
	files, err := folderOf(ctx, DefinitionRequest{Files: in.Body.Files})
	if err != nil {
		return nil, err
	}
	return &diagnosticsOutput{wireDiagnostics(factories.CheckDefinition(files))}, nil
}
