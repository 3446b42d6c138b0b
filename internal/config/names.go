package config

import (
	"fmt"
	"slices"
	"strings"
)

// names are words with commas between them, of a known set if there is one.
type names struct {
	to      *[]string
	allowed []string
}

// set takes several words in one text, and several texts.
func (v names) set(texts []string) error {
	list := []string{}
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			part = strings.TrimSpace(part)
			if part == "" {
				continue
			}
			if len(v.allowed) > 0 && !slices.Contains(v.allowed, part) {
				return fmt.Errorf("%q is none of %s", part, strings.Join(v.allowed, ", "))
			}
			list = append(list, part)
		}
	}
	*v.to = list
	return nil
}

func (v names) text() string { return strings.Join(*v.to, ",") }

func (v names) kind() string { return "list" }
