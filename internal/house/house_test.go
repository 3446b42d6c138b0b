package house_test

import (
	"os"
	"strings"
	"testing"
)

// The walls of the house, checked against every file of the module. The table
// is in imports_test.go, the numbers are in numbers_test.go and sizes_test.go, and
// each rule is tried on bad samples in the tests beside it.

func TestArchImports(t *testing.T) {
	t.Parallel()
	archHold(t, archImports)
}

func TestArchGrantsAreUsed(t *testing.T) {
	t.Parallel()
	archHold(t, archUnusedGrants)
}

func TestArchRootHasNoClock(t *testing.T) {
	t.Parallel()
	archHold(t, archNoClock)
}

func TestHouseFileLength(t *testing.T) {
	t.Parallel()
	archHold(t, archFileLengths)
}

func TestHousePackageLength(t *testing.T) {
	t.Parallel()
	archHold(t, archPackageLengths)
}

func TestHouseExportedMethods(t *testing.T) {
	t.Parallel()
	archHold(t, archExportedMethods)
}

func TestHouseLineWidth(t *testing.T) {
	t.Parallel()
	archHold(t, archLineWidths)
}

func TestHouseFunctionLength(t *testing.T) {
	t.Parallel()
	archHold(t, archFunctionLengths)
}

func TestHouseFunctionPercentile(t *testing.T) {
	t.Parallel()
	archHold(t, archFunctionPercentile)
}

func TestHouseInterfaceWidth(t *testing.T) {
	t.Parallel()
	archHold(t, archInterfaceWidths)
}

func TestHouseNoInit(t *testing.T) {
	t.Parallel()
	archHold(t, archNoInit)
}

func TestHouseNoChangingVariables(t *testing.T) {
	t.Parallel()
	archHold(t, archNoChangingVariables)
}

func TestHousePackageComments(t *testing.T) {
	t.Parallel()
	archHold(t, archPackageComments)
}

func TestHouseExportedNamesDocumented(t *testing.T) {
	t.Parallel()
	archHold(t, archExportedDocumented)
}

func TestHouseContextFirst(t *testing.T) {
	t.Parallel()
	archHold(t, archContextFirst)
}

func TestHouseExceptionsAreOfLintersThatAreOn(t *testing.T) {
	t.Parallel()
	settings, err := os.ReadFile("../../.golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	archHold(t, func(tree *archTree) []string { return archDeadExceptions(tree, string(settings)) })
	sample, err := archParse(map[string]string{"a.go": "package a\n\nvar A = 1 //" + "nolint:gosec,nilerr // why\n"})
	if err != nil {
		t.Fatal(err)
	}
	if got := archDeadExceptions(sample, string(settings)); len(got) != 1 || !strings.Contains(got[0], "gosec") {
		t.Errorf("got %v, want one complaint about gosec", got)
	}
}

func TestHouseTestsOutweighSource(t *testing.T) {
	t.Parallel()
	elsewhere := archForeignTests(t)
	archHold(t, func(tree *archTree) []string { return archTestLines(tree, elsewhere) })
}
