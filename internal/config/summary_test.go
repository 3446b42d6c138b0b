package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
)

func TestS2NoWayOfPrintingShowsSecrets(t *testing.T) {
	t.Parallel()
	c := Default()
	c.AdminKey, c.MetricsKey = "ls_hidden1hidden1hidden1", "hidden2"
	c.MasterKey, c.MasterKeyOld, c.MasterKeyCommand = "hidden5", "hidden6,hidden7", []string{"get", "--token=hidden8"}
	c.Database = "postgres://user:hidden3@db.example/x?password=hidden4"
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	logger.Info("configuration", "config", c, "key", c.AdminKey)
	asJSON, err := json.Marshal(c.AdminKey)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		c.Summary(), c.String(), fmt.Sprintf("%v %+v %#v %s", c, c, c, c), fmt.Sprintf("%v %#v %s %q", c.AdminKey, c.AdminKey, c.AdminKey, c.AdminKey),
		fmt.Sprint(&c), log.String(), string(asJSON),
	} {
		if strings.Contains(text, "hidden") {
			t.Errorf("shows a secret: %s", text)
		}
	}
	for _, want := range []string{"admin_key=[set]", "metrics_key=[set]", "master_key=[set]", "master_key_old=[set]", "master_key_command=[set]", "database=postgres://user@db.example/x", "listen=127.0.0.1:8484", "lease=30s"} {
		if !strings.Contains(c.Summary(), want) {
			t.Errorf("summary lacks %q: %s", want, c.Summary())
		}
	}
	if strings.Contains(c.Summary(), "\n") || !strings.Contains(log.String(), "config.listen=127.0.0.1:8484") {
		t.Errorf("summary %q, log %q", c.Summary(), log.String())
	}
	c.Database = "postgres://u:hidden%zz@h"
	if strings.Contains(c.Summary(), "hidden") {
		t.Errorf("shows a secret: %s", c.Summary())
	}
}

func TestHelpers(t *testing.T) {
	t.Parallel()
	c := Default()
	if c.DatabaseOrDefault() != "lineshaft-data/lineshaft.db" || c.AdminKeyFile() != "lineshaft-data/admin.key" || c.TLS() {
		t.Errorf("%s, %s, %v", c.DatabaseOrDefault(), c.AdminKeyFile(), c.TLS())
	}
	if c.Slots(4) != 8 || c.Slots(0) != 2 {
		t.Errorf("Slots: %d, %d", c.Slots(4), c.Slots(0))
	}
	c.Database, c.MaxConcurrentRuns = "/x.db", 3
	if c.DatabaseOrDefault() != "/x.db" || c.Slots(4) != 3 || Secret("").String() != "" {
		t.Errorf("%s, %d", c.DatabaseOrDefault(), c.Slots(4))
	}
}

func TestReferenceIsInTheDocs(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../docs/operation.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.TrimSpace(reference()); !strings.Contains(string(docs), want) {
		t.Errorf("docs/operation.md does not have the table of settings as it is now; replace the one there by\n%s", want)
	}
}

// reference is the table of all settings for the documentation, in Markdown.
func reference() string {
	var b strings.Builder
	b.WriteString("| flag | environment | file key | default | meaning |\n| --- | --- | --- | --- | --- |\n")
	for _, f := range Fields() {
		flag, key := "`--"+f.Name+"`", "`"+f.Key+"`"
		if f.EnvOnly {
			flag, key = "", ""
		}
		help := f.Help
		if f.Words != nil {
			help += " (" + strings.Join(showWords(f.Words), ", ") + ")"
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s |\n", flag, f.Env, key, code(f.Default()), strings.ReplaceAll(help, "|", `\|`))
	}
	return b.String()
}

func showWords(words []string) []string {
	var out []string
	for _, w := range words {
		if w != "" {
			out = append(out, code(w))
		}
	}
	return out
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
