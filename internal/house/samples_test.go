package house_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// archImporting is a package with one import.
func archImporting(name string) string {
	return "package x\n\nimport _ \"" + name + "\"\n"
}

// archLong is a function of n lines.
func archLong(n int) string {
	return "func f() {\n" + strings.Repeat("\t_ = 1\n", n-2) + "}\n"
}

func TestArchImportsCanFail(t *testing.T) {
	t.Parallel()
	const ours = archModule + "/internal/"
	archTry(t, archImports, []archSample{
		{"control may use store", map[string]string{"internal/control/runs/run.go": archImporting(ours + "store")}, nil},
		{"a part of a room counts as the room", map[string]string{"internal/harness/acp/acp.go": archImporting(ours + "mask")}, nil},
		{"a room may use its parts", map[string]string{"internal/worker/w.go": archImporting(ours + "harness/acp")}, nil},
		{"a part may use its room", map[string]string{"internal/sandbox/bwrap/b.go": archImporting(ours + "sandbox")}, nil},
		{"transport sees the store", map[string]string{"internal/api/run.go": archImporting(ours + "store")}, []string{"internal/api must not import"}},
		{"store looks down", map[string]string{"internal/store/run.go": archImporting(ours + "control")}, []string{"the row of internal/store"}},
		{"a part of a room is held too", map[string]string{"internal/harness/acp/acp.go": archImporting(ours + "store")}, []string{"the row of internal/harness"}},
		{"main knows more than cli", map[string]string{"cmd/lineshaft/main.go": archImporting(ours + "app")}, []string{"cmd/lineshaft must not import"}},
		{"app uses anything", map[string]string{"internal/app/app.go": archImporting(ours + "store")}, nil},
		{"but not cli", map[string]string{"internal/app/app.go": archImporting(ours + "cli")}, []string{"internal/app must not import"}},
		{"client brings something of ours", map[string]string{"client/client.go": archImporting(archModule)}, []string{"client must not import"}},
		{"client may use its parts", map[string]string{"client/client.go": archImporting(archModule + "/client/wire")}, nil},
		{"unknown package, told once", map[string]string{"internal/new/a.go": "package x\n", "internal/new/b.go": "package x\n"}, []string{"internal/new: no row in archTable"}},
		{"a folder of tests needs no row", map[string]string{"deploy/compose_test.go": "package x\n"}, nil},
		{"tests are exempt", map[string]string{"internal/api/run_test.go": archImporting(ours + "store")}, nil},
		{"a name that only begins alike", map[string]string{"internal/storefront/a.go": "package x\n"}, []string{"internal/storefront: no row"}},
	})
}

func TestArchOutsideImportsCanFail(t *testing.T) {
	t.Parallel()
	const pgx, sqlite = "github.com/jackc/pgx/v5/stdlib", "modernc.org/sqlite"
	archTry(t, archImports, []archSample{
		{"store has drivers", map[string]string{"internal/store/open.go": archImporting(sqlite), "internal/store/pg/a.go": archImporting(pgx)}, nil},
		{"a driver elsewhere", map[string]string{"internal/control/a.go": archImporting(pgx)}, []string{"only store knows the database drivers"}},
		{"a driver in a test elsewhere", map[string]string{"internal/app/a_test.go": archImporting(sqlite)}, []string{"only store knows the database drivers"}},
		{"database/sql elsewhere", map[string]string{"internal/control/a.go": archImporting("database/sql")}, []string{"every SQL statement is in store"}},
		{"HTTP in control", map[string]string{"internal/control/a.go": archImporting("net/http")}, []string{"HTTP belongs to the transports"}},
		{"HTTP in a room of control", map[string]string{"internal/control/runs/a.go": archImporting("net/http")}, []string{"HTTP belongs to the transports"}},
		{"a room that looks down", map[string]string{"internal/control/runs/a.go": archImporting(archModule + "/internal/control/trigger")}, []string{"the row of internal/control/runs"}},
		{"HTTP below net/http", map[string]string{"internal/sandbox/k/a.go": archImporting("net/http/httputil")}, []string{"HTTP belongs"}},
		{"HTTP in a transport", map[string]string{"internal/api/a.go": archImporting("net/http")}, nil},
		{"root uses net/url", map[string]string{"a.go": archImporting("net/url")}, nil},
		{"root opens connections", map[string]string{"a.go": archImporting("net")}, []string{"the root does no I/O"}},
		{"root reads files", map[string]string{"a.go": archImporting("os")}, []string{"the root does no I/O"}},
		{"root starts programs", map[string]string{"a.go": archImporting("os/exec")}, []string{"the root does no I/O"}},
		{"root logs", map[string]string{"a.go": archImporting("log")}, []string{"the root does no I/O"}},
		{"root queries", map[string]string{"a.go": archImporting("database/sql")}, []string{"every SQL statement is in store"}},
		{"root has a dependency", map[string]string{"a.go": archImporting("github.com/goccy/go-yaml")}, []string{"standard library alone"}},
		{"root uses a room", map[string]string{"a.go": archImporting(archModule + "/internal/id")}, []string{"the row of ."}},
	})
}

// TestArchTableIsSound guards the table itself against misspelt and slipped rows.
func TestArchTableIsSound(t *testing.T) {
	t.Parallel()
	for room, row := range archTable {
		for _, entry := range row {
			name := strings.TrimPrefix(entry, "!")
			if _, known := archTable[name]; !known && name != "internal" {
				t.Errorf("the row of %s lists %s, which has no row", room, name)
			}
		}
	}
	for _, room := range []string{"internal/api", "internal/ingress", "internal/web", "internal/mcpserver"} {
		if archAllowed(room, "internal/store") {
			t.Errorf("%s may import the store; transports never do", room)
		}
	}
	if row := archTable["cmd"]; !slices.Equal(row, []string{"internal/cli"}) {
		t.Errorf("cmd may import %v, want internal/cli alone", row)
	}
	if archAllowed("client", ".") || archAllowed(".", "internal/id") {
		t.Error("client and the root import nothing of ours")
	}
}

func TestArchNoClockCanFail(t *testing.T) {
	t.Parallel()
	asks := "package x\n\nimport \"time\"\n\nfunc f() time.Time { return time.Now() }\n"
	archTry(t, archNoClock, []archSample{
		{"the root asks for the time", map[string]string{"a.go": asks}, []string{"a.go:5: time.Now"}},
		{"others may", map[string]string{"internal/app/a.go": asks}, nil},
		{"tests may", map[string]string{"a_test.go": asks}, nil},
		{"a duration is no clock", map[string]string{"a.go": "package x\n\nimport \"time\"\n\nconst d = time.Second\n"}, nil},
	})
}

// archBlank is a file of so many lines.
func archBlank(n int) string { return "package x\n" + strings.Repeat("\n", n-1) }

func TestHouseLengthsCanFail(t *testing.T) {
	t.Parallel()
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		archTry(t, archFileLengths, []archSample{
			{"at the limit", map[string]string{"a.go": archBlank(600), "a_test.go": archBlank(800)}, nil},
			{"source too long", map[string]string{"a.go": archBlank(601)}, []string{"a.go has 601 lines"}},
			{"test too long", map[string]string{"a_test.go": archBlank(801)}, []string{"a_test.go has 801 lines"}},
			{"generated", map[string]string{"a.go": "// Code generated by x. DO NOT EDIT.\n\n" + archBlank(700)}, nil},
		})
	})
	t.Run("functions", func(t *testing.T) {
		t.Parallel()
		archTry(t, archFunctionLengths, []archSample{
			{"at the limit", map[string]string{"a.go": "package x\n\n" + archLong(80)}, nil},
			{"too long", map[string]string{"a.go": "package x\n\n" + archLong(81)}, []string{"a.go:3: f has 81 lines"}},
			{"too long in a test", map[string]string{"a_test.go": "package x\n\n" + archLong(81)}, []string{"81 lines"}},
		})
	})
	t.Run("percentile", func(t *testing.T) {
		t.Parallel()
		few := "package x\n\n" + strings.Repeat("func f() {}\n", 19)
		archTry(t, archFunctionPercentile, []archSample{
			{"one in twenty", map[string]string{"a.go": few + archLong(70)}, nil},
			{"two in twenty-one", map[string]string{"a.go": few + archLong(70) + archLong(60)}, []string{"the 95th has 60"}},
		})
	})
}

func TestHouseInterfaceWidthCanFail(t *testing.T) {
	t.Parallel()
	methods := func(n int) string { return strings.Repeat("\tM()\n", n) }
	archTry(t, archInterfaceWidths, []archSample{
		{"seven", map[string]string{"a.go": "package x\n\ntype I interface {\n" + methods(7) + "}\n"}, nil},
		{"eight", map[string]string{"a.go": "package x\n\ntype I interface {\n" + methods(8) + "}\n"}, []string{"8 methods"}},
		{"eight by embedding", map[string]string{
			"a.go": "package x\n\ntype I interface {\n" + methods(4) + "}\n",
			"b.go": "package x\n\ntype J interface {\n\tI\n" + methods(4) + "}\n",
		}, []string{"b.go:3: an interface of 8 methods"}},
		{"a stranger's is one", map[string]string{"a.go": "package x\n\ntype I interface {\n\tio.Reader\n" + methods(7) + "}\n"}, []string{"8 methods"}},
		{"unnamed", map[string]string{"a.go": "package x\n\nvar v interface {\n" + methods(9) + "}\n"}, []string{"9 methods"}},
		{"a constraint has no methods", map[string]string{"a.go": "package x\n\ntype I interface {\n\t~int | ~string\n}\n"}, nil},
	})
}

func TestHouseTestLinesCanFail(t *testing.T) {
	t.Parallel()
	archTry(t, func(tree *archTree) []string { return archTestLines(tree, 0) }, []archSample{
		{"even", map[string]string{"a.go": "package x\n", "a_test.go": "package x\n"}, nil},
		{"too few", map[string]string{"a.go": "package x\n\n", "a_test.go": "package x\n"}, []string{"1 lines of tests for 2"}},
		{"e2e and tests count", map[string]string{"a.go": "package x\n\n", "e2e/a.go": "package x\n", "tests/sdk/a.go": "package x\n"}, nil},
		{"what only tests import counts", map[string]string{"a.go": "package x\n\n", "internal/fakemodel/m/a.go": "package x\n", "internal/xtest/a.go": "package x\n"}, nil},
		{"a folder that begins alike does not", map[string]string{"testserver/a.go": "package x\n"}, []string{"0 lines of tests for 1"}},
	})
}

func TestArchReadSkipsWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	file := &fstest.MapFile{Data: []byte("package x\n")}
	sources, err := archRead(fstest.MapFS{
		"a.go": file, "internal/b/b.go": file, "internal/b/notes.md": file,
		"vendor/v/v.go": file, "web/node_modules/n/n.go": file, ".tools/t.go": file, "_old/o.go": file,
		"internal/b/testdata/d.go": file, "bin/x.go": file, "bench/peer/go.mod": file, "bench/peer/p.go": file,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(sources) != 2 || sources["a.go"] == "" || sources["internal/b/b.go"] == "" {
		t.Errorf("read %d files, want a.go and internal/b/b.go: %v", len(sources), sources)
	}
}

func TestArchParseTellsOfBrokenFiles(t *testing.T) {
	t.Parallel()
	if _, err := archParse(map[string]string{"a.go": "package"}); err == nil {
		t.Error("a file that does not parse was passed over")
	}
}
