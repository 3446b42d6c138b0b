package house_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docs/architecture.md leads through the code by file names: each of them exists. A bare
// name is in the folder that was named last.
func TestHouseArchitectureNamesFilesThatExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	if missing := missingFiles(string(text)); len(missing) > 0 {
		t.Errorf("docs/architecture.md names files that do not exist: %s", strings.Join(missing, ", "))
	}
	sample := "`internal/house/doc.go` and `gone.go`, then `internal/gone/doc.go`"
	if got := strings.Join(missingFiles(sample), " "); got != "internal/house/gone.go internal/gone/doc.go" {
		t.Errorf("of %s these are missing: %s", sample, got)
	}
}

var namedFile = regexp.MustCompile("`([a-z0-9/]+\\.go)`")

func missingFiles(text string) (missing []string) {
	dir := ""
	for _, match := range namedFile.FindAllStringSubmatch(text, -1) {
		name := match[1]
		switch {
		case strings.Contains(name, "/"):
			dir = path.Dir(name)
		default:
			if _, err := os.Stat(filepath.Join("..", "..", name)); err == nil {
				continue // a noun at the root
			}
			name = path.Join(dir, name)
		}
		if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(name))); err != nil {
			missing = append(missing, name)
		}
	}
	return missing
}
