// Command sbom writes which modules are in a program, as CycloneDX 1.5 JSON, from what the
// Go linker has put into it. The same program gives the same text. `sbom modules` lists what
// go.mod requires with its licences, and fails for those that we cannot use.
package main

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
)

type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
}

type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 1 && args[0] == "modules" {
		return allModules(context.Background(), os.Stdout)
	}
	if len(args) != 2 {
		return fmt.Errorf("usage: sbom PROGRAM VERSION, or sbom modules")
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(billOf(info, args[1]))
}

func billOf(info *debug.BuildInfo, version string) bill {
	one := func(name, version string) component {
		return component{Type: "library", Name: name, Version: version, PURL: "pkg:golang/" + name + "@" + version}
	}
	program := one(info.Main.Path, version)
	program.Type = "application"
	all := bill{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: metadata{program}, Components: []component{one("stdlib", info.GoVersion)}}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		all.Components = append(all.Components, one(module.Path, module.Version))
	}
	return all
}
