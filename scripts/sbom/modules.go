package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// vulncheck is the program that knows which known vulnerabilities a program reaches.
const vulncheck = "golang.org/x/vuln/cmd/govulncheck@v1.9.0"

// module is one that go.mod requires, for the program or for its tests.
type module struct {
	Path    string `json:"Path"`
	Version string `json:"Version"`
	Dir     string `json:"Dir"`
	Error   string `json:"Error"`
}

// A licence is recognised by words of its text.
type licence struct {
	name string
	// has are all in it, and lacks is not.
	has   []string
	lacks string
	// bound says whose terms reach further: files alone, or the whole program.
	bound reach
}

type reach int

const (
	reachNothing reach = iota
	reachFiles         // changed files stay under it: for tests only
	reachProgram       // the whole program would be under it
)

// licences are those that are known. The Mozilla Public License names those of GNU in its text, so these are
// recognised by their titles.
func licences() []licence {
	const bsd = "Redistribution and use in source and binary forms"
	return []licence{
		{name: "Apache-2.0", has: []string{"Apache License", "Version 2.0"}},
		{name: "MIT", has: []string{"Permission is hereby granted, free of charge", "without restriction"}},
		{name: "ISC", has: []string{"Permission to use, copy, modify, and", "distribute this software for any purpose with or"}},
		{name: "BSD-3-Clause", has: []string{bsd, "may be used to endorse or promote"}},
		{name: "BSD-2-Clause", has: []string{bsd}, lacks: "may be used to endorse or promote"},
		{name: "CC0-1.0", has: []string{"CC0 1.0 Universal"}},
		{name: "Unlicense", has: []string{"This is free and unencumbered software released into the public domain"}},
		{name: "MPL-2.0", has: []string{"Mozilla Public License Version 2.0", "Covered Software"}, bound: reachFiles},
		{name: "EPL", has: []string{"Eclipse Public License"}, bound: reachFiles},
		{name: "CDDL", has: []string{"COMMON DEVELOPMENT AND DISTRIBUTION LICENSE"}, bound: reachFiles},
		{name: "LGPL", has: []string{"GNU LESSER GENERAL PUBLIC LICENSE"}, bound: reachProgram},
		{name: "AGPL", has: []string{"GNU AFFERO GENERAL PUBLIC LICENSE"}, bound: reachProgram},
		{name: "GPL", has: []string{"GNU GENERAL PUBLIC LICENSE"}, bound: reachProgram},
		{name: "SSPL", has: []string{"Server Side Public License"}, bound: reachProgram},
		{name: "BUSL", has: []string{"Business Source License"}, bound: reachProgram},
	}
}

// recognise names the licences in a text.
func recognise(text string) (found []licence) {
	text = strings.Join(strings.Fields(text), " ")
	for _, l := range licences() {
		missing := slices.ContainsFunc(l.has, func(words string) bool { return !strings.Contains(text, words) })
		if !missing && (l.lacks == "" || !strings.Contains(text, l.lacks)) {
			found = append(found, l)
		}
	}
	return found
}

var (
	licenceFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|unlicense)(\.(txt|md|rst))?$`)
	// besideFile is what a module took from others: it may be long, and only what reaches the program is looked for.
	besideFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying)`)
)

// licencesOf reads the licences of a module from its folder.
func licencesOf(dir string) (found []licence, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if !besideFile.MatchString(entry.Name()) && !licenceFile.MatchString(entry.Name()) || entry.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		for _, l := range recognise(string(text)) {
			known := slices.ContainsFunc(found, func(other licence) bool { return other.name == l.name })
			if !known && (licenceFile.MatchString(entry.Name()) || l.bound == reachProgram) {
				found = append(found, l)
			}
		}
	}
	return found, nil
}

// report lists modules with their licences, and fails when one is unknown or reaches further than its own module.
func report(out io.Writer, modules []module, linked map[string]bool) error {
	var bad []error
	for _, m := range modules {
		found, err := licencesOf(m.Dir)
		var names []string
		bound := reachNothing
		for _, l := range found {
			names, bound = append(names, l.name), max(bound, l.bound)
		}
		where := "in the program"
		if !linked[m.Path] {
			where = "in tests"
		}
		_, _ = fmt.Fprintf(out, "%-60s %-42s %-24s %s\n", m.Path, m.Version, cmp.Or(strings.Join(names, ", "), "?"), where)
		switch {
		case m.Error != "" || err != nil:
			bad = append(bad, fmt.Errorf("%s cannot be read: %s", m.Path, cmp.Or(m.Error, fmt.Sprint(err))))
		case len(names) == 0:
			bad = append(bad, fmt.Errorf("%s has no licence that is known", m.Path))
		case bound == reachProgram || bound == reachFiles && linked[m.Path]:
			bad = append(bad, fmt.Errorf("%s is copyleft: %s", m.Path, strings.Join(names, ", ")))
		}
	}
	_, _ = fmt.Fprintf(out, "%d modules\n", len(modules))
	return errors.Join(bad...)
}

// required downloads the modules that go.mod requires, unless they are here.
func required(ctx context.Context) (modules []module, err error) {
	text, err := exec.CommandContext(ctx, "go", "mod", "download", "-json").Output()
	if len(text) == 0 && err != nil {
		return nil, fmt.Errorf("go mod download: %w", err)
	}
	for decoder := json.NewDecoder(strings.NewReader(string(text))); ; {
		var m module
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go mod download: %w", err)
		}
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return modules, nil
}

// linkedInto are the modules that the program has in it, on any system that it is built for.
func linkedInto(ctx context.Context, program string) (map[string]bool, error) {
	linked := map[string]bool{}
	for _, system := range []string{"linux", "darwin"} {
		cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", program)
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		text, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		for _, path := range strings.Fields(string(text)) {
			linked[path] = true
		}
	}
	return linked, nil
}

// vulnerabilities looks for known ones, if their database can be reached; otherwise it says so.
func vulnerabilities(ctx context.Context, out io.Writer, database string, check func(context.Context) error) error {
	asking, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(asking, http.MethodGet, strings.TrimSuffix(database, "/")+"/index/db.json", nil)
	if err != nil {
		return err
	}
	res, err := (&http.Client{}).Do(req)
	if err == nil {
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			err = errors.New(res.Status)
		}
	}
	if err != nil {
		_, _ = fmt.Fprintf(out, "Known vulnerabilities were NOT looked for: %s cannot be read (%v). The list has the versions.\n",
			database, err)
		return nil
	}
	return check(ctx)
}

// allModules is the report of what go.mod requires.
func allModules(ctx context.Context, out io.Writer) error {
	modules, err := required(ctx)
	if err != nil {
		return err
	}
	linked, err := linkedInto(ctx, "./cmd/lineshaft")
	if err != nil {
		return err
	}
	err = report(out, modules, linked)
	database := cmp.Or(os.Getenv("GOVULNDB"), "https://vuln.go.dev")
	return errors.Join(err, vulnerabilities(ctx, out, database, func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, "go", "run", vulncheck, "./...")
		cmd.Stdout, cmd.Stderr = out, os.Stderr
		return cmd.Run()
	}))
}
