package house_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of rooms in AGENTS.md")

// TestHouseRoomsAreDescribed holds the table of rooms in AGENTS.md to the table of imports.
func TestHouseRoomsAreDescribed(t *testing.T) {
	t.Parallel()
	tree, err := archModuleTree()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(archRoot, "AGENTS.md")
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), "<!-- rooms -->\n")
	_, tail, closed := strings.Cut(rest, "<!-- /rooms -->\n")
	if !ok || !closed {
		t.Fatal("AGENTS.md has no place for the table of rooms")
	}
	want := head + "<!-- rooms -->\n" + archRooms(tree) + "<!-- /rooms -->\n" + tail
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(page) != want {
		t.Error("the table of rooms in AGENTS.md is out of date; run: go test ./internal/house -update")
	}
}

// archRooms is the table: what each room is for, by its package comment, and what it may import.
func archRooms(tree *archTree) string {
	purpose := map[string]string{}
	for _, f := range tree.written(false) {
		if f.ast.Doc != nil && purpose[f.dir] == "" {
			sentence, _, _ := strings.Cut(strings.ReplaceAll(f.ast.Doc.Text(), "\n", " "), ". ")
			purpose[f.dir] = strings.TrimSuffix(strings.TrimSpace(sentence), ".")
		}
	}
	var table strings.Builder
	table.WriteString("| room | its comment | may import, of ours |\n| --- | --- | --- |\n")
	for _, room := range slices.Sorted(maps.Keys(archTable)) {
		grants := make([]string, len(archTable[room]))
		for i, grant := range archTable[room] {
			grants[i] = "`" + strings.Replace(grant, "internal/", "", 1) + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", room, purpose[room], strings.Join(grants, " "))
	}
	return table.String()
}
