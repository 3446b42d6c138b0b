package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/fakemodel"
)

// docPage is a page whose commands run one after the other, in a folder of their own, against a
// server of their own with a model that always has an answer.
type docPage struct {
	*node
	name, dir string
	env       []string
	shown     string // what the commands have printed
}

// beforePages is what a page takes for granted.
var beforePages = map[string]string{
	"docs/agents.md":                "lineshaft run --wait hello\nexport LINESHAFT_API_URL=$LINESHAFT_URL LINESHAFT_RUN_TOKEN=$LINESHAFT_API_KEY\n",
	"docs/ci.md":                    "cp $REPOSITORY/deploy/ci/lineshaft-run.sh .\n",
	"docs/cli.md":                   "lineshaft run --wait hello\n",
	"docs/definitions.md":           "lineshaft factory init shop\n" + strings.Repeat("echo '# again' >>shop/agents/foreman/agent.md; lineshaft factory apply shop\n", 7) + "FACTORY=FACTORY_UID\n",
	"docs/identities.md":            "lineshaft factory create shop\n",
	"docs/install.md":               releasedArchive,
	"docs/mcp.md":                   "lineshaft factory create shop\n",
	"docs/prepared-environments.md": "lineshaft environment create shop --setup-command true\nlineshaft factory create shop\nlineshaft agent create reviewer --factory shop\n",
	"docs/schedules.md":             "lineshaft factory create shop\n",
	"docs/secrets.md":               "lineshaft factory create shop\nlineshaft webhook create issues --factory shop\nU=$LINESHAFT_URL/api/v1; H=\"Authorization: Bearer $LINESHAFT_API_KEY\"\n",
	"docs/triggers.md":              "lineshaft factory create shop\n" + sentIssue,
	"docs/webhooks.md":              "lineshaft factory create shop\n",
}

// sentIssue has a webhook that was sent something.
const (
	sentIssue = "lineshaft webhook create issues --factory shop --scheme github --secret-file key.txt\n" + sendIssue
	sendIssue = "lineshaft webhook send issues --factory shop --secret-file key.txt --data @issue.json --header 'X-GitHub-Event: issues'\n"
)

// releasedArchive is what a release has: its program calls the one that is tested.
const releasedArchive = "mkdir lineshaft_0.1.0_linux_amd64\n" +
	"printf '#!/bin/sh\\nexec lineshaft \"$@\"\\n' >lineshaft_0.1.0_linux_amd64/lineshaft\n" +
	"tar -czf lineshaft_0.1.0_linux_amd64.tar.gz lineshaft_0.1.0_linux_amd64; sha256sum *.tar.gz >checksums.txt; rm -r lineshaft_0.1.0_linux_amd64\n"

// linesLeftOut are lines that cannot run, next to others that can.
var linesLeftOut = []struct{ part, reason string }{
	{"--harness claude", "it needs Claude Code and the key of its model"},
	{"--environment shop --follow", "it clones a repository of yours"},
	{"--environment web \"", "it clones a repository of yours"},
	{"--agent reviewer --host build-1", "it needs that worker"},
	{"--team", "it asks on a terminal"},
	{"lineshaft secret delete TRACKER_TOKEN", "the next commands use it"},
	{"lineshaft context add prod", "it asks on a terminal"},
	{"lineshaft context use prod", "it is of the context that was left out"},
	{"man -l ", "it opens a pager"},
	{"lineshaft migrate-database", "it needs PostgreSQL"},
	{"lineshaft webhook send ci", "it needs the secret that was shown; the next line does the same"},
	{"lineshaft webhook send https://", "it sends to another server"},
}

// TestI7DocsRun runs the commands of every page that are not marked otherwise.
func TestI7DocsRun(t *testing.T) {
	t.Parallel()
	ran := 0
	for name, fences := range docFences(t) {
		var lines []string
		for _, f := range fences {
			if f.runs() {
				lines = append(lines, shellLines(f.text)...)
			}
		}
		if len(lines) == 0 {
			continue
		}
		ran += len(lines)
		t.Run(strings.TrimSuffix(strings.TrimPrefix(name, "docs/"), ".md"), func(t *testing.T) {
			t.Parallel()
			p := newDocPage(t, name)
			p.writeFiles(fences, lines)
			for _, line := range append(shellLines(beforePages[name]), lines...) {
				if strings.HasPrefix(line, "lineshaft environment delete") { // refused while its preparation runs
					p.waitForRuns()
				}
				if !slices.ContainsFunc(linesLeftOut, func(out struct{ part, reason string }) bool { return strings.Contains(line, out.part) }) {
					p.run(line)
				}
				if strings.HasPrefix(line, "lineshaft webhook create issues --scheme github") { // next is what GitHub would send
					p.run("lineshaft webhook rotate issues --secret-file key.txt --factory shop")
					p.run(sendIssue)
				}
			}
		})
	}
	if ran < 100 {
		t.Errorf("only %d lines", ran)
	}
}

// shellLines are the commands of a fence; a line that ends with a backslash continues.
func shellLines(text string) (lines []string) {
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

func newDocPage(t *testing.T, name string) *docPage {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	model, err := fakemodel.Start(t.Context(), fakemodel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	dir := t.TempDir()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "lineshaft-data")
	p := &docPage{name: name, dir: dir, node: newNode(t, filepath.Join(data, "lineshaft.db"), "--isolation", "none", "--data-dir", data)}
	if name != "docs/api.md" { // its prompt has a block for servers without a model
		p.extraEnv = []string{"LINESHAFT_OPENAI_URL=" + model.OpenAI(), "LINESHAFT_OPENAI_API_KEY=x", "LINESHAFT_MODEL=fake-1"}
	}
	p.start(t.Context())
	p.env = []string{
		"HOME=" + dir, "PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "LINESHAFT_URL=" + p.url, "LINESHAFT_API_KEY=" + adminKey,
		"LINESHAFT_OPENAI_URL=" + model.OpenAI(), "LINESHAFT_MASTER_KEY=" + masterKey, "REPOSITORY=" + root,
	}
	p.write("lineshaft-data/admin.key", adminKey)
	p.write("variables", "")
	p.write("key.txt", docSecretText)
	p.write("issue.json", `{"action": "opened"}`)
	p.write("bin/pass", "#!/bin/sh\necho "+adminKey) // the password manager that pages ask
	if err := errors.Join(os.Chmod(filepath.Join(dir, "bin/pass"), 0o755), os.Symlink(bin, filepath.Join(dir, "bin/lineshaft"))); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *docPage) write(name, text string) {
	p.t.Helper()
	name = filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

var (
	docFile   = regexp.MustCompile(`(--(?:prompt|secret|value)-file |@)([\w-]+\.?\w*)`)
	docSecret = regexp.MustCompile(`--(?:secret|git-credentials) ([A-Z_]+)`)
)

const docSecretText = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// writeFiles makes the files and the secrets that commands name: prompts are what the page
// shows of them. A guide is followed from its top: it has to create its secrets, and to show a
// prompt before the command that reads it.
func (p *docPage) writeFiles(fences []pageFence, lines []string) {
	p.t.Helper()
	prompt := "Say hello."
	for _, f := range fences {
		if f.language == "markdown" {
			prompt = f.text
		}
	}
	all, guide := strings.Join(lines, "\n"), strings.HasPrefix(p.name, "docs/guides/")
	for _, found := range docFile.FindAllStringSubmatch(all, -1) {
		switch {
		case found[2] == "issue.json": // every page has it
		case found[2] == "trigger.json":
			p.write(found[2], `{"provider": "github", "event": "issue_opened"}`)
		case found[1] == "@":
			p.write(found[2], `{"action": ["opened"]}`)
		case found[1] == "--prompt-file ":
			if guide && !shownBefore(fences, found[2]) {
				p.t.Errorf("%s: %s is used before the page shows it", p.name, found[2])
			}
			p.write(found[2], prompt)
		default:
			p.write(found[2], docSecretText)
		}
	}
	made := map[string]bool{}
	for _, found := range docSecret.FindAllStringSubmatch(all, -1) {
		if name := found[1]; !guide && !made[name] && !strings.Contains(all, "secret create "+name) {
			made[name] = true
			p.run("printf 0123456789abcdef | lineshaft secret create " + name)
		}
	}
}

// shownBefore says whether a block of Markdown comes before the first command that reads the file.
func shownBefore(fences []pageFence, file string) bool {
	for _, f := range fences {
		switch {
		case f.language == "markdown":
			return true
		case f.runs() && strings.Contains(f.text, "--prompt-file "+file):
			return false
		}
	}
	return false
}

// placeholders are the words that readers replace, with where the test finds a value.
var placeholders = []struct{ word, path, field string }{
	{"RUN_ID", "/agent/runs", "run_id"},
	{"ARTIFACT_UID", "/agent/runs/RUN_ID", "artifact_uid"},
	{"ENVIRONMENT_UID", "/agent/environments", "uid"},
	{"FACTORY_UID", "/factory", "uid"},
	{"AUTOMATION_UID", "/factory/FACTORY_UID/automations", "uid"},
	{"WEBHOOK_UID", "/factory/FACTORY_UID/webhooks", "uid"},
	{"URL", "/factory/FACTORY_UID/webhooks", "ingress_url"},
}

// fill replaces what readers would replace.
func (p *docPage) fill(line string) string {
	p.t.Helper()
	line, _, _ = strings.Cut(line, "  #") // a comment may also have such words
	for i := len(placeholders) - 1; i >= 0; i-- {
		hold := placeholders[i]
		word := regexp.MustCompile(`\b` + hold.word + `\b`)
		if !word.MatchString(line) {
			continue
		}
		line = word.ReplaceAllLiteralString(line, p.ask(p.fill(hold.path), hold.field))
	}
	if strings.Contains(line, "DELIVERY_ID") {
		shown := p.shown
		p.shown = ""
		p.run("lineshaft webhook deliveries issues --factory shop --output json")
		found := regexp.MustCompile(`"delivery_id": ?"([^"]+)"`).FindStringSubmatch(p.shown)
		if found == nil {
			p.t.Fatalf("%s: no delivery: %s", line, p.shown)
		}
		line, p.shown = strings.ReplaceAll(line, "DELIVERY_ID", found[1]), shown
	}
	if secret := regexp.MustCompile(`(?i)secret:? +(\S{20,})`).FindStringSubmatch(p.shown); secret != nil {
		line = strings.ReplaceAll(line, "Bearer SECRET", "Bearer "+secret[1])
	}
	for _, pair := range [][2]string{{"https://lineshaft.example.com", p.url}, {"https://test.example.com", p.url}, {"ls_…", adminKey}, {"API_KEY=…", "API_KEY=" + adminKey}, {"…", "x"}} {
		line = strings.ReplaceAll(line, pair[0], pair[1])
	}
	return line
}

// waitForRuns waits until every run has ended.
func (p *docPage) waitForRuns() {
	p.t.Helper()
	var live []string
	for _, state := range lineshaft.RunStates() {
		if !state.Terminal() {
			live = append(live, "state="+string(state))
		}
	}
	eventually(p.t, "every run has ended", func() bool {
		code, text := caller{t: p.t, url: p.url, key: adminKey}.ask(http.MethodGet, "/agent/runs?"+strings.Join(live, "&"), "")
		return code == http.StatusOK && !strings.Contains(text, `"run_id"`)
	})
}

// ask reads the first value of a field in an answer.
func (p *docPage) ask(path, field string) string {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url+"/api/v1"+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+adminKey)
	answer, err := browser().Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	found := regexp.MustCompile(fmt.Sprintf(`"%s":"([^"]+)"`, field)).FindSubmatch(text)
	if err != nil || found == nil {
		p.t.Fatalf("%s has no %s (%v): %s", path, field, err, text)
	}
	return string(found[1])
}

var staysUp = regexp.MustCompile(`\blineshaft (serve|worker --id (\S+))`)

// run runs a line with bash; variables are there in the next. A server has to become ready and
// a worker to connect, which then stays.
func (p *docPage) run(line string) {
	p.t.Helper()
	filled := p.fill(line)
	if kind := staysUp.FindStringSubmatch(filled); kind != nil {
		p.background(filled, kind[2])
		return
	}
	filled = strings.ReplaceAll(filled, "127.0.0.1:8484", p.address())
	ctx, cancel := context.WithTimeout(p.t.Context(), 3*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", "set -a -o pipefail; . ./variables\n"+filled+"\ncode=$?; export -p >variables; exit $code")
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.dir, p.env, patience // what it started may hold its output
	out, err := cmd.CombinedOutput()
	status := regexp.MustCompile(`"status":([45]\d\d),`).FindSubmatch(out) // curl takes a refusal for an answer
	if err != nil || status != nil && !strings.Contains(line, string(status[1])) {
		p.t.Errorf("%s: %s: %v\n%s", p.name, filled, err, out)
	}
	p.shown += string(out)
}

func (p *docPage) background(line, worker string) {
	p.t.Helper()
	address := freeAddress(p.t)
	cmd := exec.Command("bash", "-c", "set -a; . ./variables\nexec env "+strings.ReplaceAll(line, "127.0.0.1:8484", address))
	cmd.Dir, cmd.Env = p.dir, append(p.env, "LINESHAFT_LISTEN="+address, "LINESHAFT_DATA_DIR="+p.t.TempDir())
	n := &node{t: p.t, url: "http://" + address, log: &lockedBuffer{}, cmd: cmd, exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = n.log, n.log
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(n.exited)
		_ = cmd.Wait() // how it ended is seen in its log
	}()
	p.t.Cleanup(n.kill)
	if worker == "" {
		n.waitReady(p.t.Context())
		n.stop()
		return
	}
	eventually(p.t, line, func() bool {
		_, text := caller{t: p.t, url: p.url, key: adminKey}.ask(http.MethodGet, "/agent/connected-self-hosted-workers", "")
		return strings.Contains(text, worker)
	})
}
