package house_test

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

// archTable says which packages of this module each room may import. A room is
// a folder and all below it (the root, ".", is itself alone); the longest name
// that fits counts, and a room may always import itself. "!" refuses again what
// a wider name let in. Tests may import what they like of ours.
var archTable = map[string][]string{
	// Nouns and rules: nothing of ours, and of the standard library no I/O.
	".": {},

	// Pure parts, each usable alone.
	"internal/id":          {},
	"internal/mask":        {"internal/jsontext"},
	"internal/jsontext":    {}, // the one JSON scanner
	"internal/jsonbody":    {".", "internal/jsontext"},
	"internal/peer":        {},
	"internal/rate":        {}, // counts requests of programs and of pages
	"internal/problem":     {"."},
	"internal/filter":      {".", "internal/jsontext"},
	"internal/signature":   {".", "internal/jsontext"},
	"internal/vault":       {"."},
	"internal/pause":       {}, // waiting, longer each time
	"internal/sse":         {}, // Server-Sent Events, written and read
	"internal/nearest":     {},
	"internal/tree":        {},    // walks and removes folders that somebody else has filled
	"internal/terminal":    {},    // harmless text, lines, keys and screens for the commands
	"internal/tracing":     {"."}, // spans by the API of OpenTelemetry; the codes of errors are the root's
	"internal/workerwire":  {"."}, // both ends of what a self-hosted worker and a server say
	"internal/frontmatter": {},
	"internal/cron":        {".", "internal/nearest"}, // a wrong time zone names the one that was meant
	"internal/catalog":     {".", "internal/filter", "internal/nearest"},
	"internal/skill":       {".", "internal/nearest", "internal/frontmatter"},
	"internal/definition":  {".", "internal/filter", "internal/signature", "internal/cron", "internal/catalog", "internal/nearest", "internal/frontmatter"}, // validates all of it offline

	// The git program, for definitions, skills and workspaces.
	"internal/git": {".", "internal/peer", "internal/tree"}, // which addresses are public; folders that an agent wrote

	// Signing in at an identity provider: the protocol alone. Pages call it through an interface.
	"internal/oidc": {".", "internal/peer"},

	// Requests to endpoints; control says what it needs of it.
	"internal/callback": {".", "internal/peer", "internal/signature"},

	// Files outside of the database; store says what it needs of it.
	"internal/blob": {"."},

	// The certificates of the server's own listener; what it keeps of a CA is sealed in the store.
	"internal/certificate": {"internal/id", "internal/store", "internal/vault"},

	// State, upward.
	"internal/store":  {".", "internal/id"},
	"internal/stream": {".", "internal/store", "internal/pause"},
	// Use cases, in rooms: each uses those above it, and internal/control puts them together.
	"internal/control/base":    {".", "internal/store", "internal/stream", "internal/tracing", "internal/vault"},
	"internal/control/access":  {".", "internal/control/base", "internal/id", "internal/store", "internal/stream"},
	"internal/control/secrets": {".", "internal/control/base", "internal/id", "internal/signature", "internal/store", "internal/vault"},
	"internal/control/notify": {
		".", "internal/control/base", "internal/control/secrets", "internal/id", "internal/signature", "internal/store", "internal/stream", "internal/tracing",
	},
	"internal/control/skills": {".", "internal/control/base", "internal/skill", "internal/store", "internal/stream"},
	"internal/control/runs": {
		".", "internal/control/base", "internal/control/access", "internal/control/secrets", "internal/control/notify", "internal/control/skills",
		"internal/id", "internal/jsontext", "internal/skill", "internal/store", "internal/stream", "internal/tracing",
		"internal/mask", // agents report by the API too, and secrets stay out of the log
	},
	"internal/control/trigger": {
		".", "internal/control/base", "internal/control/secrets", "internal/control/skills", "internal/control/runs",
		"internal/catalog", "internal/cron", "internal/filter", "internal/id", "internal/signature", "internal/store", "internal/stream", "internal/tracing",
	},
	"internal/control/factories": {
		".", "internal/control/base", "internal/control/secrets", "internal/control/skills", "internal/control/runs", "internal/control/trigger",
		"internal/catalog", "internal/cron", "internal/definition", "internal/filter", "internal/id", "internal/signature", "internal/store", "internal/stream",
	},
	"internal/control/overview": {
		".", "internal/control/base", "internal/control/notify", "internal/control/runs", "internal/control/trigger", "internal/control/factories",
		"internal/id", "internal/store",
	},
	"internal/control": {
		".", "internal/control/base", "internal/control/access", "internal/control/secrets", "internal/control/notify", "internal/control/skills",
		"internal/control/runs", "internal/control/trigger", "internal/control/factories", "internal/control/overview", "internal/store", "internal/stream",
	},
	"internal/jobs": {"internal/control"},

	// Transports: they never see the store; a use case that needs it is missing from control.
	"internal/api":     {".", "api/examples", "internal/tracing", "internal/id", "internal/definition", "internal/control", "internal/stream", "internal/problem", "internal/jsonbody", "internal/peer", "internal/rate", "internal/signature", "internal/sse", "internal/workerwire"},
	"internal/ingress": {".", "internal/tracing", "internal/control/trigger", "internal/problem", "internal/jsonbody", "internal/jsontext", "internal/peer", "internal/signature"},
	"internal/web/page": {
		".", "internal/control", "internal/control/access", "internal/control/base", "internal/control/factories", "internal/control/secrets", "internal/id", "internal/jsontext", "internal/peer", "internal/problem", "internal/rate", "internal/signature", "internal/sse", "internal/tracing",
	},
	"internal/web/chart": {},
	"internal/web/runs": {
		".", "internal/web/page", "internal/control/factories", "internal/control/overview", "internal/control/runs", "internal/id", "internal/sse", "internal/stream",
	},
	"internal/web/factories": {".", "internal/web/page", "internal/control/base", "internal/control/factories", "internal/control/secrets", "internal/control/trigger"},
	"internal/web/hooks":     {".", "internal/web/chart", "internal/web/page", "internal/control/factories", "internal/control/notify", "internal/control/trigger", "internal/signature"}, // how a sender is set up
	"internal/web/platform":  {".", "internal/web/page", "internal/control/access", "internal/control/base", "internal/control/overview", "internal/control/runs", "internal/control/secrets"},
	"internal/web/overview":  {".", "internal/web/chart", "internal/web/page", "internal/control/overview"},
	"internal/web":           {"internal/web/page", "internal/web/runs", "internal/web/factories", "internal/web/hooks", "internal/web/platform", "internal/web/overview"},
	"internal/mcpserver":     {".", "internal/control", "internal/stream", "internal/problem", "internal/jsonbody"},

	// The worker's side: it meets the control plane through an interface only.
	"internal/model":      {".", "internal/nearest"},                                                                                                            // a wrong key in the file of endpoints names the one that was meant
	"internal/gateway":    {".", "internal/tracing", "internal/mask", "internal/model", "internal/peer", "internal/sse"},                                        // which addresses are public
	"internal/harness":    {".", "internal/tracing", "internal/mask", "internal/model", "internal/sandbox", "internal/skill", "internal/sse", "internal/pause"}, // the prompt is put together there
	"internal/sandbox":    {"internal/tree"},
	"internal/overlay":    {"internal/pause", "internal/tree"}, // folders on top of others
	"internal/workspace":  {".", "internal/tree", "internal/overlay"},
	"internal/prepared":   {"internal/tree", "internal/overlay"}, // trees that set-up commands have made, kept for later runs
	"internal/worker":     {".", "internal/tracing", "internal/mask", "internal/model", "internal/gateway", "internal/harness", "internal/prepared", "internal/sandbox", "internal/workspace", "internal/skill", "internal/pause"},
	"internal/remote":     {".", "internal/tracing", "internal/workerwire"},                                                                         // the control plane as a self-hosted worker reaches it
	"internal/kubernetes": {".", "internal/mask", "internal/model", "internal/gateway", "internal/worker", "internal/workerwire", "internal/pause"}, // one Job of a cluster for each execution, whose Secret holds the job spelt out

	// Assembly.
	"internal/config":    {".", "internal/nearest"},
	"internal/telemetry": {".", "internal/tracing"},
	"internal/app":       {".", "client", "internal", "!internal/cli"},
	// The commands, in rooms: each uses those above it, and internal/cli puts them together.
	"internal/cli/shell":    {".", "client", "internal/config", "internal/jsontext", "internal/nearest", "internal/terminal", "internal/tracing"},
	"internal/cli/find":     {".", "client", "internal/cli/shell"},
	"internal/cli/contexts": {"client", "internal/cli/shell", "internal/config"},
	"internal/cli/team":     {"client", "internal/cli/find", "internal/cli/shell"},
	"internal/cli/runs":     {".", "client", "internal/cli/find", "internal/cli/shell", "internal/terminal"},
	"internal/cli/factories": {
		".", "client", "internal/cli/find", "internal/cli/runs", "internal/cli/shell",
		"internal/cron", "internal/definition", "internal/signature", // times, folders and signatures are checked without a server
	},
	"internal/cli/setup": {
		"client", "internal/cli/factories", "internal/cli/runs", "internal/cli/shell",
		"internal/filter", "internal/signature", // its filter is tried without a server
	},
	"internal/cli/server": {".", "client", "internal/app", "internal/cli/shell", "internal/config", "internal/telemetry"},
	"internal/cli": {
		"client", "internal/app", "internal/cli/contexts", "internal/cli/factories", "internal/cli/find", "internal/cli/runs", "internal/cli/server",
		"internal/cli/setup", "internal/cli/shell", "internal/cli/team", "internal/config", "internal/manual",
	},
	"cmd": {"internal/cli"},

	// Public: other people's programs import it, so it brings nothing of ours.
	"client":          {},
	"client/webhook":  {"internal/signature"}, // signs as the server verifies; it has no I/O and no dependencies
	"client/callback": {"client"},

	// JSON, embedded.
	"api/examples": {},

	// The documentation: its pages, embedded, and what renders them.
	"docs":            {},
	"internal/manual": {"docs", "internal/nearest"},

	// The rules themselves, which are tests.
	"internal/house": {},

	// A model for tests that look at the house through HTTP: it knows nothing of it.
	"internal/fakemodel": {},

	// Beside the house: programs and tests that look at it from outside.
	"bench":   {".", "client", "internal", "bench", "e2e", "tests"},
	"e2e":     {".", "client", "internal", "bench", "e2e", "tests"},
	"tests":   {".", "client", "internal", "bench", "e2e", "tests"},
	"scripts": {},
}

// archOnly lists imports that belong to some rooms alone.
var archOnly = []struct {
	imports []string
	rooms   []string
	tests   bool // holds for test files too
	why     string
}{
	{
		imports: []string{"modernc.org/sqlite", "github.com/jackc/pgx"},
		rooms:   []string{"internal/store", "bench"},
		tests:   true,
		why:     "only store knows the database drivers",
	},
	{
		imports: []string{"go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/exporters"},
		rooms:   []string{"internal/telemetry", "internal/tracing/tracingtest", "e2e", "tests", "bench"},
		why:     "only telemetry knows who collects spans",
	},
	{
		imports: []string{"go.opentelemetry.io/otel"},
		rooms:   []string{"internal/telemetry", "internal/tracing", "e2e", "tests", "bench"},
		why:     "spans are made through internal/tracing, which costs nothing when tracing is off",
	},
	{
		imports: []string{"google.golang.org/grpc"},
		rooms:   []string{"internal/telemetry", "e2e", "tests"},
		tests:   true,
		why:     "only telemetry speaks gRPC, to collectors",
	},
	{
		imports: []string{"github.com/caddyserver/certmagic", "github.com/mholt/acmez", "go.uber.org/zap"},
		rooms:   []string{"internal/certificate"},
		tests:   true,
		why:     "only certificate knows how a CA is asked",
	},
	{
		imports: []string{"database/sql"},
		rooms:   []string{"internal/store", "bench"},
		why:     "every SQL statement is in store",
	},
}

// archNever lists imports that some rooms must not have.
var archNever = []struct {
	imports []string // "x/..." is x and all below it
	rooms   []string
	why     string
}{
	{
		imports: []string{"net", "net/http/...", "os/...", "database/sql/...", "log/...", "syscall"},
		rooms:   []string{"."},
		why:     "the root does no I/O",
	},
	{
		imports: []string{"net/http/..."},
		rooms: []string{
			"internal/control", "internal/store", "internal/stream", "internal/jobs",
			"internal/sandbox", "internal/workspace",
		},
		why: "HTTP belongs to the transports, statuses to problem",
	},
}

// archImports is the rule of the three tables above.
func archImports(tree *archTree) []string {
	var complaints []string
	unknown := map[string]bool{}
	for _, f := range tree.files {
		room := archRoom(f.dir)
		if room == "" && !f.test && !unknown[f.dir] {
			unknown[f.dir] = true
			complaints = append(complaints, fmt.Sprintf(
				"%s: no row in archTable (internal/house/imports_test.go); add one that lists what it may import", f.dir))
		}
		for _, spec := range f.ast.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue // the parser has refused it already
			}
			if why := archRefusal(f, room, name); why != "" {
				complaints = append(complaints, fmt.Sprintf("%s: %s must not import %s: %s", tree.at(spec), f.dir, name, why))
			}
		}
	}
	return complaints
}

// archRefusal says why a file may not have an import, or nothing.
func archRefusal(f *archFile, room, name string) string {
	for _, rule := range archOnly {
		held := rule.tests || !f.test
		if held && slices.ContainsFunc(rule.imports, archBelow(name)) && !slices.ContainsFunc(rule.rooms, archBelow(f.dir)) {
			return rule.why
		}
	}
	if f.test || room == "" {
		return ""
	}
	for _, rule := range archNever {
		if slices.ContainsFunc(rule.rooms, archBelow(room)) && slices.ContainsFunc(rule.imports, func(pattern string) bool {
			below, deep := strings.CutSuffix(pattern, "/...")
			return name == below || deep && strings.HasPrefix(name, below+"/")
		}) {
			return rule.why
		}
	}
	ours, inModule := archOurs(name)
	if !inModule {
		first, _, _ := strings.Cut(name, "/")
		if room == "." && strings.Contains(first, ".") {
			return "the root uses the standard library alone"
		}
		return ""
	}
	if !archAllowed(room, ours) {
		return fmt.Sprintf("the row of %s in archTable does not list it", room)
	}
	return ""
}

// archOurs turns an import path into a folder of this module.
func archOurs(name string) (dir string, ok bool) {
	if name == archModule {
		return ".", true
	}
	return strings.CutPrefix(name, archModule+"/")
}

// archAllowed looks a folder up in the row of a room.
func archAllowed(room, dir string) bool {
	if archRoom(dir) == room {
		return true
	}
	allowed := false
	for _, entry := range archTable[room] {
		if refused, ok := strings.CutPrefix(entry, "!"); ok {
			if archBelow(dir)(refused) {
				return false
			}
			continue
		}
		allowed = allowed || archBelow(dir)(entry)
	}
	return allowed
}

// archRoom finds the row of a folder: the longest name that fits, or nothing.
func archRoom(dir string) string {
	best := ""
	for room := range archTable {
		if archBelow(dir)(room) && len(room) > len(best) {
			best = room
		}
	}
	return best
}

// archBelow reports whether name is a room or is inside of it.
func archBelow(name string) func(room string) bool {
	return func(room string) bool {
		return name == room || room != "." && strings.HasPrefix(name, room+"/")
	}
}

// archNoClock refuses to ask for the time in the root: rules get it as a value.
func archNoClock(tree *archTree) []string {
	refused := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	var complaints []string
	for _, f := range tree.written(false) {
		if f.dir != "." {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "time" && slices.Contains(refused, sel.Sel.Name) {
				complaints = append(complaints, fmt.Sprintf("%s: time.%s in the root; take the time as a value", tree.at(sel), sel.Sel.Name))
			}
			return true
		})
	}
	return complaints
}
