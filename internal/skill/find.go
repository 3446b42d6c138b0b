package skill

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/nearest"
)

// listedNames is how many names an error about a missing skill lists.
const listedNames = 5

// Tree is what a repository has of skills.
type Tree struct {
	// Files are texts by path.
	Files map[string]string
	// TooLarge are files that were left out for their size.
	TooLarge []string
}

// Found is one skill of a repository.
type Found struct {
	// Folder is the name it is asked for with, and Path is where it is. First says that
	// the name means this one and not another of the same name.
	Folder string
	Path   string
	First  bool
	Skill  lineshaft.Skill
	// Err is why the file is no skill.
	Err error
}

// Find reads the skill that a name or an exact path means. When there is none, the
// error is a CodeNotFound and lists the nearest names that there are; when its file
// is malformed, a CodeInvalidRequest.
func Find(t Tree, ref lineshaft.SkillRef) (lineshaft.Skill, error) {
	at, ok := t.locate(ref)
	if !ok {
		return lineshaft.Skill{}, t.missing(ref)
	}
	s, err := t.read(at)
	if err != nil {
		return lineshaft.Skill{}, lineshaft.Invalid("", "%s of %s is not a valid skill: %s", at, ref.Repository, err)
	}
	s.Spec, s.Path = ref.String(), at
	return s, nil
}

// locate is the path of the file that is meant.
func (t Tree) locate(ref lineshaft.SkillRef) (at string, ok bool) {
	if ref.IsPath() {
		for _, at := range []string{ref.Target, ref.Target + "/" + lineshaft.SkillFile} { // a folder will do
			if t.has(at) {
				return at, true
			}
		}
		return "", false
	}
	for _, dir := range lineshaft.SkillDirs() {
		if at := path.Join(dir, ref.Target, lineshaft.SkillFile); t.has(at) {
			return at, true
		}
	}
	return "", false
}

func (t Tree) has(at string) bool {
	_, ok := t.Files[at]
	return ok || slices.Contains(t.TooLarge, at)
}

func (t Tree) read(at string) (lineshaft.Skill, error) {
	if slices.Contains(t.TooLarge, at) {
		return lineshaft.Skill{}, tooLarge()
	}
	s, err := Parse(t.Files[at])
	s.Path = at
	return s, err
}

// missing lists what there is instead: names for a name, paths for a path.
func (t Tree) missing(ref lineshaft.SkillRef) error {
	var names []string
	for _, found := range List(t) {
		name := found.Folder
		if ref.IsPath() {
			name = found.Path
		}
		if found.Err == nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return Missing(ref.Target, "repository "+ref.Repository.String(), names)
}

// Missing is the error about a skill that is not in a place, which has others.
func Missing(target, place string, names []string) error {
	message := fmt.Sprintf("%s has no skill %q", place, target)
	switch near := nearest.Words(target, names, listedNames); {
	case len(names) == 0:
		message += "; it has none at all"
	case len(names) <= listedNames:
		message += "; it has " + strings.Join(near, ", ")
	default:
		message += fmt.Sprintf("; the nearest of its %d are %s", len(names), strings.Join(near, ", "))
	}
	return &lineshaft.Error{Code: lineshaft.CodeNotFound, Message: message}
}

// List reads every skill in the folders that skills are kept in, also those whose
// file is malformed, by path. The same name may be there several times: a bare name
// means the one whose folder comes first in lineshaft.SkillDirs.
func List(t Tree) []Found {
	var list []Found
	for _, at := range slices.Sorted(maps.Keys(paths(t))) {
		folder, ok := folderOf(at)
		if !ok {
			continue
		}
		s, err := t.read(at)
		first, _ := t.locate(lineshaft.SkillRef{Target: folder})
		list = append(list, Found{Folder: folder, Path: at, First: first == at, Skill: s, Err: err})
	}
	slices.SortStableFunc(list, func(a, b Found) int { return cmp.Compare(a.Folder, b.Folder) })
	return list
}

func paths(t Tree) map[string]bool {
	all := map[string]bool{}
	for at := range t.Files {
		all[at] = true
	}
	for _, at := range t.TooLarge {
		all[at] = true
	}
	return all
}

// folderOf is the name of the skill that a path means, if it is in the usual place.
func folderOf(at string) (string, bool) {
	folder := path.Dir(at)
	return path.Base(folder), path.Base(at) == lineshaft.SkillFile && slices.Contains(lineshaft.SkillDirs(), path.Dir(folder))
}
