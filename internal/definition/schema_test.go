package definition

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var updateSchemas = flag.Bool("update-schemas", false, "write the schemas anew")

// The published schemas are those of the keys that are read.
func TestF3SchemasArePublished(t *testing.T) {
	t.Parallel()
	for _, name := range Documents() {
		want, err := json.MarshalIndent(documentSchema(name), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, '\n')
		if *updateSchemas {
			if err := os.WriteFile(filepath.Join("schemas", Version, name+".schema.json"), want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got := Schemas()[name]; string(got) != string(want) {
			t.Errorf("schemas/%s/%s.schema.json is not what the keys say; run go test ./internal/definition -run Schemas -update-schemas", Version, name)
		}
	}
}
