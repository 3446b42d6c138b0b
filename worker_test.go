package lineshaft_test

import (
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func TestR3WorkerIDs(t *testing.T) {
	t.Parallel()
	for id, ok := range map[string]bool{
		"mac": true, "Mac-mini_2.local": true, "7": true, strings.Repeat("a", 128): true,
		"": false, "hosted": false, "warp": false, "-a": false, ".": false, "..": false, "a/b": false, "a b": false, "ä": false, "a\x00": false,
		strings.Repeat("a", 129): false,
	} {
		if err := lineshaft.CheckWorkerID("id", id); (err == nil) != ok {
			t.Errorf("%.20q: %v", id, err)
		}
	}
}

func TestX2WorkerLabels(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"": true, "os=linux": true, "os=linux gpu=": true, "example.com/zone=eu-1_a/b": true, strings.Repeat("k", 63) + "=" + strings.Repeat("v", 63): true,
		"os": false, "=x": false, "a=b,c": false, "a=b=c": false, "ä=b": false, "a=\u0161": false, "a=1 a=2": false, strings.Repeat("k", 64) + "=": false, "k=" + strings.Repeat("v", 64): false,
		strings.Repeat("k=v ", 33): false,
	} {
		if err := lineshaft.CheckLabels("labels", strings.Fields(text)); (err == nil) != ok {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func TestS3WhoMayWorkForAnID(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		caller lineshaft.Caller
		may    bool
	}{
		{"worker, its id", lineshaft.Caller{Role: lineshaft.RoleWorker, WorkerIDs: []string{"x", "mac"}}, true},
		{"worker, another id", lineshaft.Caller{Role: lineshaft.RoleWorker, WorkerIDs: []string{"mac2"}}, false},
		{"admin", lineshaft.Caller{Role: lineshaft.RoleAdmin}, true},
		{"admin of a factory", lineshaft.Caller{Role: lineshaft.RoleAdmin, FactoryUIDs: []string{"f"}}, true},
		{"worker of a factory", lineshaft.Caller{Role: lineshaft.RoleWorker, WorkerIDs: []string{"mac"}, FactoryUIDs: []string{"f"}}, true},
		{"manager with ids", lineshaft.Caller{Role: lineshaft.RoleManager, WorkerIDs: []string{"mac"}}, false},
		{"nobody", lineshaft.Caller{}, false},
	} {
		if got := tc.caller.MayWorkFor("mac"); got != tc.may {
			t.Errorf("%s: %t", tc.name, got)
		}
	}
}
