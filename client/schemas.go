package client

import (
	"context"
	"encoding/json"
)

const schemasPath = "/factory-files/schemas"

// SchemaVersions lists the versions of the format that the server reads.
func (s *DefinitionsService) SchemaVersions(ctx context.Context) ([]string, error) {
	out, err := get[struct {
		Versions []string `json:"versions"`
	}](ctx, s.c, schemasPath, nil)
	if err != nil {
		return nil, err
	}
	return out.Versions, nil
}

// Schemas reads the schemas of all files of a version.
func (s *DefinitionsService) Schemas(ctx context.Context, version string) (*Schemas, error) {
	part, err := segment("schema version", version)
	if err != nil {
		return nil, err
	}
	return get[Schemas](ctx, s.c, schemasPath+"/"+part, nil)
}

// Schema reads the schema of one kind of file, such as "automation".
func (s *DefinitionsService) Schema(ctx context.Context, version, document string) (json.RawMessage, error) {
	first, err := segment("schema version", version)
	if err != nil {
		return nil, err
	}
	second, err := segment("schema", document)
	if err != nil {
		return nil, err
	}
	out, err := get[json.RawMessage](ctx, s.c, schemasPath+"/"+first+"/"+second, nil)
	if err != nil {
		return nil, err
	}
	return *out, nil
}
