// Package deploy_test holds what is in the folder deploy to the programs that read it.
package deploy_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const root = "../.."

// program finds a program that the tests install, or ends the test.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path
	case os.Getenv("LINESHAFT_TEST_ALL") != "":
		t.Fatalf("%s is missing: run scripts/install-deps", name)
	default:
		t.Skipf("%s is not installed; make test-all installs it", name)
	}
	return ""
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestI6AlertRules lets promtool check the rules and run their tests.
func TestI6AlertRules(t *testing.T) {
	t.Parallel()
	promtool := program(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "lineshaft-alerts.yaml"}, {"test", "rules", "lineshaft-alerts-test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = filepath.Join(root, "deploy/monitoring")
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("SUCCESS")) {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	// Every alert has a row in the guide that says what to do, or a description that does.
	for _, alert := range regexp.MustCompile(`alert: (\w+)\n(?s:.*?)description: (.*)`).FindAllStringSubmatch(read(t, "deploy/monitoring/lineshaft-alerts.yaml"), -1) {
		if len(alert[2]) < 20 {
			t.Errorf("%s does not say what to do", alert[1])
		}
	}
	for _, row := range regexp.MustCompile("\\| `(Lineshaft\\w+)` \\|").FindAllStringSubmatch(read(t, "docs/operate/monitoring.md"), -1) {
		if !strings.Contains(read(t, "deploy/monitoring/lineshaft-alerts.yaml"), "alert: "+row[1]+"\n") {
			t.Errorf("docs/operate/monitoring.md has %s, which is not a rule", row[1])
		}
	}
}

// TestI6SystemdUnits lets systemd check the units, with our program where they look for it.
func TestI6SystemdUnits(t *testing.T) {
	t.Parallel()
	analyze := program(t, "systemd-analyze")
	dir := t.TempDir()
	bin := filepath.Join(dir, "lineshaft")
	if err := os.WriteFile(bin, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lineshaft.service", "lineshaft-worker@.service"} {
		text := strings.ReplaceAll(read(t, "deploy/systemd/"+name), "/usr/bin/lineshaft", bin)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", filepath.Join(dir, name)).CombinedOutput()
		if err != nil || bytes.Contains(out, []byte(name[:9])) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	broken := filepath.Join(dir, "broken.service")
	if err := os.WriteFile(broken, []byte("[Service]\nExecStart=/no/such/program\nRestrat=always\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, _ := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", broken).CombinedOutput(); !bytes.Contains(out, []byte("Restrat")) {
		t.Errorf("a broken unit is not complained about: %s", out)
	}
}

// TestI6WorkersPageHasTheUnit: the page shows the unit that is installed.
func TestI6WorkersPageHasTheUnit(t *testing.T) {
	t.Parallel()
	unit := read(t, "deploy/systemd/lineshaft-worker@.service")
	if !strings.Contains(read(t, "docs/workers.md"), "\n```ini\n"+unit+"```\n") {
		t.Error("docs/workers.md does not show deploy/systemd/lineshaft-worker@.service as it is")
	}
}

var (
	setting = regexp.MustCompile(`LINESHAFT_[A-Z0-9_]*[A-Z0-9]`)
	option  = regexp.MustCompile(`(?:^|[\s"\[-])--([a-z][a-z0-9-]+)`)
)

// clientSettings are variables that are not settings of a server.
var clientSettings = []string{"LINESHAFT_URL", "LINESHAFT_API_KEY"}

// TestI6DeployNamesSettingsThatThereAre: variables and flags of servers and workers exist.
func TestI6DeployNamesSettingsThatThereAre(t *testing.T) {
	t.Parallel()
	page, worker, checked := read(t, "docs/operation.md")+read(t, "docs/secrets.md"), read(t, "docs/reference/commands.md"), 0
	for _, dir := range []string{"compose", "helm", "proxy", "systemd", "kubernetes"} {
		err := filepath.WalkDir(filepath.Join(root, "deploy", dir), func(name string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(name)
			for _, found := range setting.FindAllString(string(text), -1) {
				checked++
				if !strings.Contains(page, "`"+found+"`") && !slices.Contains(clientSettings, found) {
					t.Errorf("%s: there is no setting %s", name, found)
				}
			}
			for line := range strings.Lines(string(text)) {
				if strings.Contains(line, "docker") || strings.Contains(line, "kubectl") || strings.Contains(line, "openssl") || strings.Contains(line, "apikey") {
					continue
				}
				for _, found := range option.FindAllStringSubmatch(line, -1) {
					checked++
					if !strings.Contains(page, "`--"+found[1]+"`") && !strings.Contains(worker, "`--"+found[1]) {
						t.Errorf("%s: there is no flag --%s: %s", name, found[1], strings.TrimSpace(line))
					}
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checked < 30 {
		t.Errorf("only %d were checked", checked)
	}
}

// TestI6Compose: what runs is not root, cannot write to its root, and is on loopback only.
func TestI6Compose(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"compose.yaml", "compose.postgres.yaml"} {
		var file struct {
			Services map[string]struct {
				Ports    []string `yaml:"ports"`
				ReadOnly bool     `yaml:"read_only"`
				CapDrop  []string `yaml:"cap_drop"`
				Volumes  []string `yaml:"volumes"`
				Build    struct{ Context, Dockerfile string }
				// The program itself: an image may have no shell.
				Healthcheck struct{ Test []string }
			} `yaml:"services"`
			Volumes map[string]any `yaml:"volumes"`
		}
		if err := yaml.UnmarshalWithOptions([]byte(read(t, "deploy/compose/"+name)), &file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		server := file.Services["lineshaft"]
		if !server.ReadOnly || !slices.Contains(server.CapDrop, "ALL") || len(server.Ports) != 1 || !strings.HasPrefix(server.Ports[0], "127.0.0.1:") {
			t.Errorf("%s: %+v", name, server)
		}
		if check := server.Healthcheck.Test; len(check) < 2 || check[0] != "CMD" || check[1] != "lineshaft" {
			t.Errorf("%s: the server's health is checked by %q", name, check)
		}
		if _, err := os.Stat(filepath.Join(root, "deploy/compose", server.Build.Context, server.Build.Dockerfile)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for service, s := range file.Services {
			for _, volume := range s.Volumes {
				from, _, _ := strings.Cut(volume, ":")
				if _, there := file.Volumes[from]; !there {
					t.Errorf("%s: %s uses the volume %s, which is not there", name, service, from)
				}
			}
		}
	}
}

// TestI6Dockerfile has the rules of a linter that is not in Debian.
func TestI6Dockerfile(t *testing.T) {
	t.Parallel()
	if problems := dockerProblems(read(t, "deploy/Dockerfile")); len(problems) > 0 {
		t.Errorf("%s", strings.Join(problems, "\n"))
	}
	for text, want := range map[string]string{
		"FROM debian\nUSER 1:1\n":                                             "debian has no tag",
		"FROM debian:latest\nUSER 1:1\n":                                      "debian:latest has no tag",
		"FROM debian:12\n":                                                    "the last user is root",
		"FROM debian:12\nUSER 1:1\nADD a b\n":                                 "ADD",
		"FROM debian:12\nRUN apt-get install -y git\nUSER 1:1\n":              "apt-get",
		"FROM debian:12\nUSER 1:1\nENTRYPOINT lineshaft\n":                    "ENTRYPOINT",
		"FROM debian:12 AS a\nFROM scratch AS b\nUSER 1:1\n":                  "",
		"FROM debian:12\nUSER 1:1\nUSER root\n":                               "the last user is root",
		"FROM debian:12\nUSER 1:1\nRUN cd /x && make\n":                       "cd",
		"FROM debian:12\nUSER 1:1\nRUN curl http://x | sh\n":                  "pipes",
		"FROM debian:12 AS agents\nUSER 1:1\nCMD [\"serve\"]\nVOLUME /data\n": "",
	} {
		got := strings.Join(dockerProblems(text), "; ")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func dockerProblems(text string) (problems []string) {
	text = strings.ReplaceAll(regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(text, ""), "\\\n", " ")
	user, stage := "root", ""
	ends := func() {
		if stage != "" && user == "root" && !strings.HasSuffix(stage, " AS build") && !strings.HasSuffix(stage, " AS a") {
			problems = append(problems, stage+": the last user is root")
		}
	}
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "FROM":
			ends()
			image, _, _ := strings.Cut(rest, " ")
			if image != "scratch" && (!strings.Contains(image, ":") || strings.HasSuffix(image, ":latest")) {
				problems = append(problems, image+" has no tag")
			}
			user, stage = "root", rest
		case "USER":
			user = rest
		case "ADD":
			problems = append(problems, "ADD instead of COPY: "+rest)
		case "ENTRYPOINT", "CMD":
			if !strings.HasPrefix(rest, "[") {
				problems = append(problems, word+" without brackets does not get signals")
			}
		case "RUN":
			if strings.Contains(rest, "apt-get install") && (!strings.Contains(rest, "--no-install-recommends") || !strings.Contains(rest, "rm -rf /var/lib/apt/lists/*")) {
				problems = append(problems, "apt-get leaves more than is needed: "+rest)
			}
			if strings.HasPrefix(rest, "cd ") {
				problems = append(problems, "cd instead of WORKDIR: "+rest)
			}
			if strings.Contains(rest, "| sh") {
				problems = append(problems, "pipes a download into a shell: "+rest)
			}
		}
	}
	ends()
	return problems
}
