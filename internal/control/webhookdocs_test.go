package control_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/signature"
)

// schemeTable is the table of docs/webhooks.md, as the code has it.
func schemeTable() string {
	makers := map[signature.SecretOrigin]string{signature.Generated: "Lineshaft", signature.Chosen: "you; else Lineshaft", signature.Issued: "the provider"}
	var out strings.Builder
	out.WriteString("| scheme | sender | who makes the secret | signature in | time limit | delivery id in | handshake |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, s := range signature.Schemes() {
		var headers, limits, ids []string
		for _, rule := range s.Rules {
			headers = append(headers, "`"+rule.Header+"`")
			if rule.Stamp.Window > 0 {
				limits = append(limits, fmt.Sprintf("%d s", rule.Stamp.Window/time.Second))
			}
		}
		for _, place := range s.Identity {
			name := "`" + place.Header + "`"
			if place.Body != "" {
				name = "body `" + place.Body + "`"
			}
			ids = append(ids, name)
		}
		if s.Name == "hmac" {
			headers, limits, ids = []string{"`hmac.header`"}, []string{"300 s with `hmac.timestamp_header`"}, []string{"`hmac.id_header`"}
		}
		cells := []string{"`" + s.Name + "`", s.Title, makers[s.SecretFrom], several(headers), several(limits), several(ids), s.Handshake}
		out.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return out.String()
}

func several(words []string) string {
	var each []string
	for _, word := range words {
		if !slices.Contains(each, word) {
			each = append(each, word)
		}
	}
	return strings.Join(each, ", ")
}

func TestW9DocsHaveTheTableOfSchemes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := schemeTable(); !strings.Contains(string(text), want) {
		t.Errorf("docs/webhooks.md does not have the table of schemes as it is now; replace the one there by\n%s", want)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("GitHub, Stripe, Slack and [%d other schemes]", len(factories.SignatureSchemes())-3); !strings.Contains(string(readme), want) {
		t.Errorf("README.md does not say %q", want)
	}
	for _, name := range factories.SignatureSchemes() {
		if !strings.Contains(string(text), "| `"+name+"` |") {
			t.Errorf("docs/webhooks.md has no row for %s", name)
		}
	}
}
