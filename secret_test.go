package lineshaft

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestS1SecretNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"A": true, "TOKEN_2": true, strings.Repeat("A", 128): true, "PATHS": true, "HOMEPAGE": true,
		"": false, "a": false, "Ab": false, "1A": false, "_A": false, "A-B": false, "A B": false, "É": false, "A\n": false, strings.Repeat("A", 129): false,
		"PATH": false, "LINESHAFT_X": false, "LD_PRELOAD": false, "BASH_ENV": false, "LC_ALL": false, "IFS": false,
	} {
		secret := Secret{Name: name, Kind: SecretManaged, Access: AccessRuns}
		if err := secret.Validate(); (err == nil) != want {
			t.Errorf("%.20q: %v", name, err)
		}
	}
	hook := Secret{Name: "LINESHAFT_WEBHOOK_SECRET", Kind: SecretWebhook, Access: AccessGranted}
	if err := hook.Validate(); err != nil {
		t.Errorf("a webhook's credential becomes no variable: %v", err)
	}
	for _, bad := range []Secret{
		{Name: "A", Access: "all"},
		{Name: "A"},
		{Name: "A", Access: AccessRuns, Description: strings.Repeat("x", MaxDescriptionRunes+1)},
		{Name: "A", Access: AccessRuns, Description: "\x00"},
	} {
		if bad.Validate() == nil {
			t.Errorf("%.60v is taken", bad)
		}
	}
}

func TestS1SecretValues(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		"x": true, "two\nlines\n": true, "é\x01\x7f": true, strings.Repeat("x", MaxSecretBytes): true,
		"": false, strings.Repeat("x", MaxSecretBytes+1): false, strings.Repeat("é", MaxSecretBytes/2+1): false, "a\x00b": false, "\xff": false,
	} {
		err := CheckSecretValue(value)
		if (err == nil) != want {
			t.Errorf("%.20q: %v", value, err)
		}
		if err != nil && len(value) > 1 && strings.Contains(err.Error(), value) {
			t.Errorf("quotes the value: %v", err)
		}
	}
}

func TestS2SecretValuesAreNotPrinted(t *testing.T) {
	t.Parallel()
	const hidden = "correct-horse-battery-staple"
	job := Job{Secrets: SecretValues{"TOKEN": hidden}}
	text, err := json.Marshal(map[string]any{"secrets": job.Secrets})
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{
		string(text), fmt.Sprint(job), fmt.Sprintf("%v %+v %#v %s %q %x", job, job, job, job.Secrets, job.Secrets, job.Secrets), fmt.Sprintf("%+v", &job),
	} {
		if strings.Contains(shown, hidden) || strings.Contains(shown, fmt.Sprintf("%x", hidden)) || !strings.Contains(shown, "[1 secrets]") {
			t.Errorf("shows %s", shown)
		}
	}
}

func TestR3SecretsOfAConfiguration(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range MaxRunSecrets + 1 {
		many = append(many, fmt.Sprintf("S%d", i))
	}
	for _, tc := range []struct {
		names []string
		field string
	}{
		{nil, ""},
		{many[1:], ""},
		{many, "config.secrets"},
		{[]string{"A", "b"}, "config.secrets[1].name"},
		{[]string{"A", "B", "A"}, "config.secrets[2].name"},
		{[]string{"A\x00"}, "config.secrets[0].name"},
	} {
		err := AgentConfig{Secrets: tc.names}.Validate()
		if (err == nil) != (tc.field == "") || err != nil && !strings.Contains(err.Error(), tc.field+": ") {
			t.Errorf("%q: %v", tc.names, err)
		}
	}
}
