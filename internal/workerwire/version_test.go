package workerwire_test

import (
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/workerwire"
)

func TestX1VersionsMayBeOneMinorApart(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		worker, server string
		upgrade        string // empty: they may work together
	}{
		{"0.3.0", "0.3.9", ""},
		{"v0.3.0", "0.4.1", ""},
		{"0.4.0", "v0.3.7", ""},
		{"0.4.0-rc.1", "0.3.7", ""},
		{"1.0", "1.1", ""},
		{"0.2.9", "0.4.0", "upgrade the worker"},
		{"0.5.0", "0.3.0", "upgrade the server"},
		{"0.9.0", "1.0.0", "upgrade the worker"},
		{"2.0.0", "1.9.0", "upgrade the server"},
		{"dev", "0.9.0", ""},
		{"0.1.0", "dev", ""},
		{"", "0.1.0", ""},
		{"0.x.1", "0.9.0", ""},
		{"-1.0.0", "0.9.0", ""},
	} {
		err := workerwire.CheckVersions(tc.worker, tc.server)
		if (err == nil) != (tc.upgrade == "") || err != nil && !strings.Contains(err.Error(), tc.upgrade) {
			t.Errorf("worker %s, server %s: %v", tc.worker, tc.server, err)
		}
	}
	if err := workerwire.CheckVersions("0.1."+strings.Repeat("\x1b[31m", 100), "0.9.0"); err == nil || len(err.Error()) > 400 || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a stranger's version is passed on: %q", err)
	}
}

func TestX1ProtocolNumbers(t *testing.T) {
	t.Parallel()
	if err := workerwire.CheckProtocol(workerwire.Protocol); err != nil {
		t.Error(err)
	}
	for number, who := range map[int]string{workerwire.Protocol + 1: "upgrade the server", 0: "upgrade the worker", -1: "upgrade the worker"} {
		if err := workerwire.CheckProtocol(number); lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest || !strings.Contains(err.Error(), who) {
			t.Errorf("%d: %v", number, err)
		}
	}
}
