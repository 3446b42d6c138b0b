package page

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// TestI7PicturesShowTheMenu: the pictures of docs/screens were taken with the menu that there is,
// and each of its pages has one.
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
	film, err := os.Stat(filepath.Join(folder, "tour.png"))
	if err != nil || film.Size() > 2<<20 {
		t.Errorf("the film of the README: %v, at most 2 MiB", err)
	}
}
