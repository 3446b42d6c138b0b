package page

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// TestI7PicturesShowTheMenu: the pictures of docs/screens were taken with the menu and the routes that
// there are, and each page has one.
func TestI7PicturesShowTheMenu(t *testing.T) {
	t.Parallel()
	const folder = "../../../docs/screens"
	want := ""
	for _, section := range Sections(lineshaft.RoleAdmin) {
		want += section.Name + " " + section.Href + "\n"
		if _, err := os.Stat(filepath.Join(folder, section.Icon+"-light.png")); err != nil {
			t.Errorf("there is no picture of %s: add the page to e2e/browser/screens.mjs", section.Name)
		}
	}
	got, err := os.ReadFile(filepath.Join(folder, "menu.txt"))
	if err != nil || string(got) != want {
		t.Errorf("the pictures show another menu (%v); run: make screens\n%s\nwant\n%s", err, got, want)
	}
	pictures(t, folder)
	film, err := os.Stat(filepath.Join(folder, "tour.png"))
	if err != nil || film.Size() > 2<<20 {
		t.Errorf("the film of the README: %v, at most 2 MiB", err)
	}
}

// pictures compares pages.txt, which the pictures were taken with, with the routes of the server, which
// another test holds routes.json to.
func pictures(t *testing.T, folder string) {
	t.Helper()
	raw, err := os.ReadFile("../../../e2e/browser/routes.json")
	if err != nil {
		t.Fatal(err)
	}
	var routes []string
	if err := json.Unmarshal(raw, &routes); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "pages.txt"))
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for line := range strings.Lines(string(text)) {
		route, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		shown[route] = name
	}
	there := map[string]bool{}
	for _, route := range routes {
		at, ok := strings.CutPrefix(route, "GET ")
		if !ok {
			continue
		}
		there[at] = true
		name := shown[at]
		if name == "" {
			t.Errorf("the pictures were taken without %s; run: make screens", at)
			continue
		}
		if _, err := os.Stat(filepath.Join(folder, name+"-light.png")); name != "-" && err != nil {
			t.Errorf("the picture of %s is gone: %v", at, err)
		}
	}
	for route := range shown {
		if !there[route] {
			t.Errorf("the pictures show %s, which is gone; run: make screens", route)
		}
	}
}
