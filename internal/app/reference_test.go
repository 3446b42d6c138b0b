package app_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/problem"
)

var updateReference = flag.Bool("update-reference", false, "write the generated pages of docs/reference again")

// generated says of a page where it comes from.
const generated = "<!-- Generated: go test ./internal/app -run Reference -update-reference -->\n\n"

// holdReference compares a generated page with the one in docs.
func holdReference(t *testing.T, name, want string) {
	t.Helper()
	path := "../../docs/reference/" + name
	if *updateReference {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("docs/reference/%s is not what the code has (%v); run: go test ./internal/app -run Reference -update-reference", name, err)
	}
}

func TestI7ReferenceOfErrors(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	page.WriteString("# Errors\n\n" + generated + "Every failed request is answered with `application/problem+json` (RFC 9457). Its `code` is one of these, and its `type` leads to\n" +
		"a page on your server that explains it. Codes without a status are those of runs, in `status_message.error_code`.\n\n" +
		"| code | status | what it means | what to do |\n| --- | --- | --- | --- |\n")
	seen := map[lineshaft.Code]bool{}
	for _, row := range problem.Rows() {
		seen[row.Code] = true
		status := "run"
		if row.Status != 0 {
			status = fmt.Sprint(row.Status)
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", row.Code, status, cell(row.Explanation), cell(row.Fix))
	}
	for _, code := range lineshaft.Codes() {
		if !seen[code] {
			t.Errorf("%s has no row", code)
		}
	}
	holdReference(t, "errors.md", page.String())
}

// cell is a text for a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}

func TestI7ReferenceOfOperations(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string   `yaml:"operationId"`
			Summary     string   `yaml:"summary"`
			Tags        []string `yaml:"tags"`
		} `yaml:"paths"`
	}
	if err := yaml.Unmarshal(source, &doc); err != nil {
		t.Fatal(err)
	}
	byTag := map[string][]string{}
	for path, methods := range doc.Paths {
		for method, operation := range methods {
			if operation.OperationID == "" {
				continue
			}
			tag := strings.Join(operation.Tags, ", ")
			byTag[tag] = append(byTag[tag], fmt.Sprintf("| `%s %s` | %s | `%s` |\n", strings.ToUpper(method), path, cell(operation.Summary), operation.OperationID))
		}
	}
	var page strings.Builder
	page.WriteString("# Every API operation\n\n" + generated + "Paths are below `/api/v1`. `/api/v1/docs` on your server has every field; [the API](../api.md) explains keys, pages and streams.\n")
	tags, count := []string{}, 0
	for tag := range byTag {
		tags = append(tags, tag)
	}
	slices.Sort(tags)
	for _, tag := range tags {
		slices.SortFunc(byTag[tag], func(a, b string) int {
			return strings.Compare(strings.SplitN(a, " ", 3)[2]+a, strings.SplitN(b, " ", 3)[2]+b)
		})
		fmt.Fprintf(&page, "\n## %s\n\n| call | does | operation |\n| --- | --- | --- |\n%s", tag, strings.Join(byTag[tag], ""))
		count += len(byTag[tag])
	}
	if count < 80 {
		t.Errorf("only %d operations", count)
	}
	holdReference(t, "operations.md", page.String())
}

func TestI7ReferenceOfMetrics(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	page.WriteString("# Metrics\n\n" + generated + "`/metrics` has these in Prometheus' format, and the usual `go_` and `process_` ones. Histograms also have `_bucket`, `_sum` and\n" +
		"`_count`. [Monitoring](../operate/monitoring.md) says what to watch.\n\n| metric | meaning |\n| --- | --- |\n")
	for _, m := range metrics(t) {
		fmt.Fprintf(&page, "| `%s` | %s |\n", m[0], cell(m[1]))
	}
	holdReference(t, "metrics.md", page.String())
}

var metricInSource = regexp.MustCompile(`"(lineshaft_[a-z_]+)",\s*(?:Help: )?"([^"]*)"`)

// metrics lists names and meanings as the source has them: a server shows a histogram only
// once something was measured.
func metrics(t *testing.T) (found [][2]string) {
	t.Helper()
	files, err := filepath.Glob("../../internal/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range metricInSource.FindAllStringSubmatch(string(text), -1) {
			if !strings.HasSuffix(file, "_test.go") {
				found = append(found, [2]string{m[1], m[2]})
			}
		}
	}
	slices.SortFunc(found, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	if len(found) < 14 {
		t.Fatalf("only %d metrics", len(found))
	}
	return found
}

// What a server shows is in the list.
func TestI7ReferenceHasTheMetricsOfAServer(t *testing.T) {
	t.Parallel()
	a := start(t, settings(t), options(t, nil))
	_, text := call(t, "GET", a.URL()+"/metrics", "", "")
	shown := regexp.MustCompile(`(?m)^# TYPE (lineshaft_\w+)`).FindAllStringSubmatch(string(text), -1)
	if len(shown) < 6 {
		t.Fatalf("only %d metrics", len(shown))
	}
	for _, name := range shown {
		if !slices.ContainsFunc(metrics(t), func(m [2]string) bool { return m[0] == name[1] }) {
			t.Errorf("%s is not in docs/reference/metrics.md", name[1])
		}
	}
}

func TestI7ReferenceOfEvents(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../event.go")
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	page.WriteString("# Event types\n\n" + generated + "The log of a run is a list of events, numbered from 1 without gaps. Every agent's output is brought into these types, so one reader\n" +
		"understands all agents. `data` depends on the type; [the API](../api.md) shows how to read and follow them.\n\n| type | what it is |\n| --- | --- |\n")
	said := regexp.MustCompile(`// Event\w+ (.+?)(?:: \w+(?: without a role)?)?\.\n\tEvent\w+ EventType = "(\w+)"`).FindAllStringSubmatch(string(source), -1)
	if all := strings.Count(string(source), ` EventType = "`); len(said) != all || all < 11 {
		t.Fatalf("%d of %d types have a comment in the usual form", len(said), all)
	}
	for _, m := range said {
		fmt.Fprintf(&page, "| `%s` | %s |\n", m[2], cell(m[1]))
	}
	holdReference(t, "events.md", page.String())
}

// Rules and dashboards ask for metrics that there are.
func TestI6MonitoringAsksForMetricsThatThereAre(t *testing.T) {
	t.Parallel()
	there := map[string]bool{"up": true}
	for _, m := range metrics(t) {
		for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
			there[m[0]+suffix] = true
		}
	}
	for name, least := range map[string]int{"lineshaft-alerts.yaml": 6, "grafana-dashboard.json": 8} {
		text, err := os.ReadFile("../../deploy/monitoring/" + name)
		if err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile(`\blineshaft_[a-z_]+`).FindAllString(string(text), -1)
		if len(named) < least {
			t.Errorf("%s names only %d metrics", name, len(named))
		}
		for _, metric := range named {
			if !there[metric] {
				t.Errorf("%s asks for %s, which does not exist", name, metric)
			}
		}
	}
}
