package config

import (
	"strings"
	"testing"
)

func TestX12Vendors(t *testing.T) {
	t.Parallel()
	c, err := Load(Sources{Environ: []string{"LINESHAFT_OPENAI_URL=http://127.0.0.1:11434/v1", "LINESHAFT_GEMINI_API_KEY=abc"}})
	if err != nil {
		t.Fatal(err)
	}
	got := c.Vendors()
	if len(got) != 2 || got[0] != (Vendor{"openai", "http://127.0.0.1:11434/v1", ""}) || got[1] != (Vendor{"gemini", "", "abc"}) {
		t.Errorf("vendors are %+v", got)
	}
}

func TestX12ModelSettingsAreChecked(t *testing.T) {
	t.Parallel()
	for environ, want := range map[string]string{
		"LINESHAFT_OPENAI_URL=models.example.com":               "LINESHAFT_OPENAI_URL: write a whole URL",
		"LINESHAFT_ANTHROPIC_URL=https://user:pw@m.example.com": "LINESHAFT_ANTHROPIC_URL: write a whole URL without user",
		"LINESHAFT_GEMINI_API_KEY=a b":                          "LINESHAFT_GEMINI_API_KEY: holds a space",
		"LINESHAFT_EGRESS=allow":                                "no host is named; set egress-hosts",
		"LINESHAFT_EGRESS_HOSTS=example.com":                    "but egress is full; set egress to allow",
	} {
		_, err := Load(Sources{Environ: []string{environ}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", environ, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "pw@") {
			t.Errorf("%s: the password is quoted", environ)
		}
	}
	_, err := Load(Sources{Environ: []string{"LINESHAFT_EGRESS=allow", "LINESHAFT_EGRESS_HOSTS=a.example", "LINESHAFT_ISOLATION=none"}})
	if err == nil || !strings.Contains(err.Error(), "without isolation agents cannot be kept") {
		t.Errorf("an allow-list without isolation: %v", err)
	}
	if _, err := Load(Sources{File: []byte("anthropic_api_key: x\n"), FileName: "f.yaml"}); err == nil || !strings.Contains(err.Error(), "set LINESHAFT_ANTHROPIC_API_KEY instead") {
		t.Errorf("a key in the file: %v", err)
	}
}
