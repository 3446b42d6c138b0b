package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestHouseSecurityPageNamesTests holds docs/security.md to its word: each test that it
// names is there.
func TestHouseSecurityPageNamesTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(archRoot, "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir(archRoot, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || strings.HasPrefix(entry.Name(), ".") && path != archRoot) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		for _, found := range declared.FindAllStringSubmatch(string(source), -1) {
			there[found[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 100 {
		t.Errorf("only %d tests are named", len(named))
	}
	for _, found := range named {
		if !there[found[1]] {
			t.Errorf("%s is named in docs/security.md and is nowhere", found[1])
		}
	}
}

// TestHouseSecurityClaimsHaveTests wants a test beside each claim of docs/security.md: in each
// row of its tables.
func TestHouseSecurityClaimsHaveTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(archRoot, "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	before := ""
	for line := range strings.Lines(string(page)) {
		row := strings.HasPrefix(line, "|")
		switch head := row && !strings.HasPrefix(before, "|"); {
		case !row || head || strings.HasPrefix(line, "| ---"):
		case !strings.Contains(line, "`Test"):
			t.Errorf("no test is named beside this claim: %.120s", line)
		default:
			rows++
		}
		before = line
	}
	if rows < 70 {
		t.Errorf("only %d claims have tests", rows)
	}
}
