package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

type folders struct{ to *[]string }

// set takes absolute paths, several in one text with colons between them, as in PATH.
func (v folders) set(texts []string) error {
	list := []string{}
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ":") {
			if part == "" {
				continue
			}
			if err := checkFolder(part); err != nil {
				return err
			}
			list = append(list, filepath.Clean(part))
		}
	}
	*v.to = list
	return nil
}

func (v folders) text() string { return strings.Join(*v.to, ":") }

func (v folders) kind() string { return "list" }

// checkFolder refuses what holds more than programs: agents would see the files of
// others, or lose what the sandbox has in that place.
func checkFolder(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%q is no absolute path; write the whole path of the folder", path)
	}
	path = filepath.Clean(path)
	shared := []string{"/", "/dev", "/etc", "/home", "/proc", "/root", "/run", "/sys", "/tmp", "/var", "/workspace"}
	if slices.Contains(shared, path) || strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/sys/") || strings.HasPrefix(path, "/dev/") {
		return fmt.Errorf("%q holds more than agents may see; name the folder that the agents are installed in", path)
	}
	return nil
}
