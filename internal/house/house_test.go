package house_test

import "testing"

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

func TestHouseTestsOutweighSource(t *testing.T) {
	t.Parallel()
	elsewhere := archForeignTests(t)
	archHold(t, func(tree *archTree) []string { return archTestLines(tree, elsewhere) })
}
