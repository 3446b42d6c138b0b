package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The beginnings of licences, as far as they are recognised.
const (
	mitText = "Permission is hereby granted, free of\ncharge, to any person … to deal in the Software without restriction"
	bsdText = "Redistribution and use in source and binary\nforms, with or without modification … may be used to endorse or promote"
	mplText = "Mozilla Public License Version 2.0\n==== Covered Software … the GNU General Public License, Version 2.0"
	gplText = "                    GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007"
)

// I-6: a module whose licence is unknown or copyleft fails the report; one for tests alone may keep its own files to itself.
func TestI6LicencesOfModules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files map[string]string
		tests bool
		says  string
		fails string
	}{
		"MIT":                       {files: map[string]string{"LICENSE": mitText}, says: "MIT"},
		"in a file of another name": {files: map[string]string{"license.md": bsdText}, says: "BSD-3-Clause"},
		"two clauses":               {files: map[string]string{"COPYING": strings.Split(bsdText, " …")[0]}, says: "BSD-2-Clause"},
		"both":                      {files: map[string]string{"LICENSE": mitText + "\nApache License\n Version 2.0"}, says: "Apache-2.0, MIT"},
		"none":                      {files: map[string]string{"README.md": mitText}, says: "?", fails: "no licence that is known"},
		"unknown":                   {files: map[string]string{"LICENSE": "You may look at it."}, says: "?", fails: "no licence that is known"},
		"GPL":                       {files: map[string]string{"COPYING": gplText}, says: "GPL", fails: "is copyleft: GPL"},
		"GPL for tests":             {files: map[string]string{"COPYING": gplText}, tests: true, says: "GPL", fails: "is copyleft"},
		"GPL beside":                {files: map[string]string{"LICENSE": mitText, "LICENSE-3RD-PARTY": gplText}, says: "MIT, GPL", fails: "is copyleft"},
		"others beside":             {files: map[string]string{"LICENSE": mitText, "LICENSE-LOGO": "see elsewhere", "LICENSE-X": mplText}, says: "MIT"},
		"MPL":                       {files: map[string]string{"LICENSE": mplText}, says: "MPL-2.0", fails: "is copyleft: MPL-2.0"},
		"MPL for tests":             {files: map[string]string{"LICENSE": mplText}, tests: true, says: "MPL-2.0"},
	} {
		dir := t.TempDir()
		for file, text := range tc.files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		err := report(&out, []module{{Path: "example.com/a", Version: "v1", Dir: dir}}, map[string]bool{"example.com/a": !tc.tests})
		if (err == nil) != (tc.fails == "") || err != nil && !strings.Contains(err.Error(), tc.fails) || !strings.Contains(out.String(), " "+tc.says+" ") {
			t.Errorf("%s: %v\n%s", name, err, &out)
		}
	}
	if err := report(&bytes.Buffer{}, []module{{Path: "example.com/a", Error: "not found"}}, nil); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("a module that is not here: %v", err)
	}
}

// I-6: vulnerabilities are looked for where their database answers; elsewhere the report says that they were not.
func TestI6VulnerabilitiesOrAWordAboutThem(t *testing.T) {
	t.Parallel()
	database := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/there/index/db.json" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer database.Close()
	found := errors.New("one is reached")
	for path, want := range map[string]error{"/there": found, "/elsewhere": nil} {
		var out bytes.Buffer
		err := vulnerabilities(t.Context(), &out, database.URL+path, func(context.Context) error { return found })
		if !errors.Is(err, want) || (want == nil) != strings.Contains(out.String(), "NOT looked for") {
			t.Errorf("%s: %v\n%s", path, err, &out)
		}
	}
}
