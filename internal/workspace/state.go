package workspace

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// state is kept next to the folder that the agent sees.
type state struct {
	// Number is the execution that used the workspace last.
	Number int `json:"number"`
	// KeepUntil is zero while an execution uses it.
	KeepUntil time.Time `json:"keep_until,omitzero"`
	// Preparing says that the folder was never made ready.
	Preparing bool `json:"preparing,omitempty"`
	// Layer is what the folder is on top of; empty when all of it is its own.
	Layer string `json:"layer,omitempty"`
	// Stored says that a snapshot has all that the folder had when it was let go.
	Stored bool `json:"stored,omitempty"`
	// Artifacts are the files already taken, by path.
	Artifacts map[string]stamp `json:"artifacts,omitempty"`
}

// stamp shows whether a file has changed since it was taken.
type stamp struct {
	Size  int64  `json:"size"`
	Nanos int64  `json:"nanos"` // time of the last change
	Inode uint64 `json:"inode"`
}

func stateFile(home string) string { return filepath.Join(home, "state.json") }

func readState(home string) (state, error) {
	var s state
	raw, err := os.ReadFile(stateFile(home))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(raw, &s)
}

// saveState replaces the file at once: a worker may die at any moment.
func saveState(home string, s state) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	temporary := stateFile(home) + ".new"
	if err := os.WriteFile(temporary, raw, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, stateFile(home))
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

func readNames(root *os.Root, dir string) ([]string, error) {
	f, err := openDir(root, dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	names, err := f.Readdirnames(-1)
	slices.SortFunc(names, strings.Compare)
	return names, err
}

// openDir opens a folder and nothing else: a pipe that an agent puts in its place
// would block for ever.
func openDir(root *os.Root, dir string) (*os.File, error) {
	return root.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
}
