package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// Printing or logging a client, or a thing that holds one, does not show its key.
func TestS2PrintedClientHidesKey(t *testing.T) {
	t.Parallel()
	const key, token = "ls_0123456789abcdef", "token-of-a-proxy"
	c, err := New("https://lineshaft.example.com", key, WithHeader("X-Proxy-Token", token))
	if err != nil {
		t.Fatal(err)
	}
	type holder struct {
		Client  Client
		Pointer *Client
		inner   Client
	}
	for name, value := range map[string]any{
		"pointer": c, "value": *c, "with": c.With(WithMaxRetries(1)), "service": c.Runs, "service value": *c.Runs,
		"holder": holder{Client: *c, Pointer: c}, "list": []*Client{c}, "map": map[string]Client{"c": *c},
		"unexported field": holder{inner: *c}, // where fmt calls no method
	} {
		var shown strings.Builder
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&shown, verb+"\n", value)
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("made", "client", value)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("made", "client", value)
		document, err := json.Marshal(value)
		shown.WriteString(log.String() + string(document))
		for _, secret := range []string{key, token, fmt.Sprintf("%x", key)} {
			if err != nil || strings.Contains(shown.String(), secret) {
				t.Errorf("%s (%v): shows %s:\n%s", name, err, secret, &shown)
			}
		}
	}
	if text := fmt.Sprintf("%v", c); text != "lineshaft client of https://lineshaft.example.com/api/v1" {
		t.Errorf("printed as %q", text)
	}
	if text := fmt.Sprint(&Client{}); !strings.Contains(text, "client.New") {
		t.Errorf("an empty one is printed as %q", text)
	}
}
