package lineshaft_test

import "testing"

// The walls of the house, checked against every file of the module. The table
// is in archimports_test.go, the numbers are in archnumbers_test.go, and each
// rule is tried on bad samples in the tests beside it.

func TestArchImports(t *testing.T) {
	t.Parallel()
	archHold(t, archImports)
}

func TestArchRootHasNoClock(t *testing.T) {
	t.Parallel()
	archHold(t, archNoClock)
}

func TestHouseFileLength(t *testing.T) {
	t.Parallel()
	archHold(t, archFileLengths)
}

func TestHouseFileMedian(t *testing.T) {
	t.Parallel()
	archHold(t, archFileMedian)
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

func TestHouseTestsOutweighSource(t *testing.T) {
	t.Parallel()
	elsewhere := archForeignTests(t)
	archHold(t, func(tree *archTree) []string { return archTestLines(tree, elsewhere) })
}
