package lineshaft_test

import (
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

// S-3 as a matrix: what each role may.
func TestS3RolesMayWhatTheSpecSays(t *testing.T) {
	t.Parallel()
	all := []lineshaft.Permission{
		lineshaft.PermissionWhoami, lineshaft.PermissionRunsRead, lineshaft.PermissionRunsStart, lineshaft.PermissionRunsManage,
		lineshaft.PermissionKeys, lineshaft.PermissionAudit, lineshaft.PermissionWork, lineshaft.PermissionReport,
	}
	want := map[lineshaft.Role]string{
		lineshaft.RoleViewer:  "xx......",
		lineshaft.RoleMember:  "xxx.....",
		lineshaft.RoleManager: "xxxx....",
		lineshaft.RoleAdmin:   "xxxxxxx.",
		lineshaft.RoleWorker:  "x.....x.",
		lineshaft.RoleRun:     "xxx....x",
		"":                    "........",
		"root":                "........",
	}
	for role, row := range want {
		for i, permission := range all {
			if got := role.May(permission); got != (row[i] == 'x') {
				t.Errorf("role %q may %s: %t", role, permission, got)
			}
		}
		if !role.May(lineshaft.PermissionNone) {
			t.Errorf("role %q may not use public routes", role)
		}
		if role.May("runs:delete-everything") {
			t.Errorf("role %q has an unknown permission", role)
		}
	}
	for _, role := range lineshaft.Roles() {
		if _, known := want[role]; !known {
			t.Errorf("role %s is not in this test", role)
		}
	}
}

func TestS3FactoryLimit(t *testing.T) {
	t.Parallel()
	open, limited := lineshaft.Caller{}, lineshaft.Caller{FactoryUIDs: []string{"f1", "f2"}}
	for _, test := range []struct {
		caller  lineshaft.Caller
		factory string
		want    bool
	}{
		{open, "f1", true}, {open, "", true}, {limited, "f1", true}, {limited, "f2", true}, {limited, "f3", false}, {limited, "", false},
	} {
		if got := test.caller.MaySeeFactory(test.factory); got != test.want {
			t.Errorf("limit %v sees %q: %t", test.caller.FactoryUIDs, test.factory, got)
		}
	}
}

func TestH2KeyEnds(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	for name, test := range map[string]struct {
		key  lineshaft.APIKey
		want bool
	}{
		"plain":            {lineshaft.APIKey{}, true},
		"expires later":    {lineshaft.APIKey{ExpiresAt: now.Add(time.Microsecond)}, true},
		"expires now":      {lineshaft.APIKey{ExpiresAt: now}, false},
		"expired":          {lineshaft.APIKey{ExpiresAt: now.Add(-time.Hour)}, false},
		"revoked":          {lineshaft.APIKey{RevokedAt: now.Add(-time.Hour)}, false},
		"revoked, not due": {lineshaft.APIKey{RevokedAt: now, ExpiresAt: now.Add(time.Hour)}, false},
	} {
		if got := test.key.Usable(now); got != test.want {
			t.Errorf("%s: usable is %t", name, got)
		}
	}
}

// The count of a root's descendants goes with its row, so that an agent which could delete
// its own root would start as many again. A run token deletes nothing.
func TestX15RunTokensDeleteNoRuns(t *testing.T) {
	t.Parallel()
	if lineshaft.RoleRun.May(lineshaft.PermissionRunsManage) {
		t.Error("a run token may delete runs")
	}
}
