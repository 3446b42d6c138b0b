package main

import (
	"runtime/debug"
	"testing"
)

func TestI6BillOfMaterials(t *testing.T) {
	t.Parallel()
	got := billOf(&debug.BuildInfo{GoVersion: "go1.26.1", Main: debug.Module{Path: "example.com/a"}, Deps: []*debug.Module{
		{Path: "example.com/b", Version: "v1.2.3"}, {Path: "example.com/c", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/d", Version: "v2.0.0"}},
	}}, "1.0")
	if got.Metadata.Component.PURL != "pkg:golang/example.com/a@1.0" || len(got.Components) != 3 || got.Components[0].Version != "go1.26.1" ||
		got.Components[1].Name != "example.com/b" || got.Components[2].PURL != "pkg:golang/example.com/d@v2.0.0" {
		t.Errorf("%+v", got)
	}
	if err := run(nil); err == nil {
		t.Error("no program, no error")
	}
	if err := run([]string{"/no/such/program", "1"}); err == nil {
		t.Error("no such program, no error")
	}
}
