package shell

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/goccy/go-yaml"
)

// ContextFile is the file of the servers that a person works with. It is small and read
// whole; every change replaces it in one step.
type ContextFile struct {
	// Current is the context that commands use when nothing else names a server.
	Current  string                  `yaml:"current,omitempty"`
	Contexts map[string]SavedContext `yaml:"contexts,omitempty"`
}

// SavedContext is one server. The key is in at most one of the four fields.
type SavedContext struct {
	URL string `yaml:"url"`
	Key string `yaml:"key,omitempty"`
	// KeyFile, KeyEnv and KeyCommand say where the key is instead.
	KeyFile    string   `yaml:"key_file,omitempty"`
	KeyEnv     string   `yaml:"key_env,omitempty"`
	KeyCommand []string `yaml:"key_command,omitempty,flow"`

	// Name is the key of the map.
	Name string
}

const (
	contextLockWait = 10 * time.Second
	maxContextFile  = 1 << 20
)

// contextPath is the path of the file: LINESHAFT_CONTEXTS, or else in the user's folder for
// settings. Without a home there is no file, and there are no contexts.
func (sh *Shell) contextPath() string {
	if path := sh.Env["LINESHAFT_CONTEXTS"]; path != "" {
		return path
	}
	dir := sh.Env["XDG_CONFIG_HOME"]
	if !filepath.IsAbs(dir) { // the rule of that variable: a relative one does not count
		if sh.Env["HOME"] == "" {
			return ""
		}
		dir = filepath.Join(sh.Env["HOME"], ".config")
	}
	return filepath.Join(dir, "lineshaft", "contexts.yaml")
}

// Contexts reads the file; none is an empty one.
func (sh *Shell) Contexts() (*ContextFile, error) {
	file, path := &ContextFile{Contexts: map[string]SavedContext{}}, sh.contextPath()
	if path == "" {
		return file, nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxContextFile) {
		return nil, Failure(nil, path+" is not a file of contexts", "Move it away; `lineshaft context add` creates a new one.")
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, Failure(err, fmt.Sprintf("cannot read the contexts: %v", err),
			"Check who may read the file, or name another with LINESHAFT_CONTEXTS.")
	}
	if err := yaml.UnmarshalWithOptions(text, file, yaml.Strict()); err != nil {
		return nil, Failure(err, fmt.Sprintf("%s cannot be read: %s", path, yamlMistake(err)),
			"Fix that line, or move the file away; `lineshaft context add` creates a new one.")
	}
	if file.Contexts == nil {
		file.Contexts = map[string]SavedContext{}
	}
	if file.holdsKeys() && info.Mode().Perm()&0o077 != 0 {
		return nil, Failure(nil, fmt.Sprintf("others on this machine can read %s, which holds keys (its mode is %04o)", path, info.Mode().Perm()), "Protect it with `chmod 600 "+ShellWord(path)+"`. If others may have read it, create new keys.")
	}
	return file, nil
}

// yamlMistake is a parser's complaint with its place and without the text of the file,
// which may hold keys.
func yamlMistake(err error) string {
	if complaint, ok := errors.AsType[yaml.Error](err); ok {
		if token := complaint.GetToken(); token != nil && token.Position != nil {
			return fmt.Sprintf("line %d: %s", token.Position.Line, strings.TrimSpace(complaint.GetMessage()))
		}
	}
	return "it is not valid YAML for this file"
}

func (f *ContextFile) holdsKeys() bool {
	for _, c := range f.Contexts {
		if c.Key != "" {
			return true
		}
	}
	return false
}

// Names are those of the contexts, sorted.
func (f *ContextFile) Names() []string {
	var names []string
	for name := range f.Contexts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Find is the context of a name; where is what named it.
func (f *ContextFile) Find(name, where string) (*SavedContext, error) {
	if found, ok := f.Contexts[name]; ok {
		found.Name = name
		return &found, nil
	}
	return nil, NotFound(fmt.Sprintf("%s there is no context %q", where, name),
		DidYouMean(name, f.Names())+"`lineshaft context list` shows them; `lineshaft context add NAME --url ADDRESS` adds one.")
}

// ChangeContexts reads the file, lets change edit it, and replaces it. Other callers
// wait.
func (sh *Shell) ChangeContexts(ctx context.Context, change func(*ContextFile) error) error {
	path := sh.contextPath()
	if path == "" {
		return Failure(nil, "there is no place for contexts: HOME is not set", "Name a file with LINESHAFT_CONTEXTS.")
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link into a folder of settings stays one
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return Failure(err, fmt.Sprintf("cannot create the folder for the contexts: %v", err),
			"Name a file elsewhere with LINESHAFT_CONTEXTS.")
	}
	unlock, err := lockContexts(ctx, path+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	file, err := sh.Contexts()
	if err != nil {
		return err
	}
	if err := change(file); err != nil {
		return err
	}
	text, err := yaml.Marshal(file)
	if err == nil {
		err = replaceFile(path, text)
	}
	if err != nil {
		return Failure(err, fmt.Sprintf("cannot write the contexts: %v", err),
			"Nothing was changed. Check who may write there, or name another file with LINESHAFT_CONTEXTS.")
	}
	return nil
}

// replaceFile writes next to the file and renames, so a reader sees the old or the
// new one, and a crash leaves one of them.
func replaceFile(path string, text []byte) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // made with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // the old file stays
		}
	}()
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close(), os.Rename(file.Name(), path))
}

// lockContexts holds a lock next to the file, because the file itself is replaced.
func lockContexts(ctx context.Context, path string) (unlock func(), err error) {
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, Failure(err, fmt.Sprintf("cannot lock the contexts: %v", err),
			"Check who may write there, or name another file with LINESHAFT_CONTEXTS.")
	}
	ctx, cancel := context.WithTimeout(ctx, contextLockWait)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() {
				_ = syscall.Flock(int(lock.Fd()), syscall.LOCK_UN) // a child may hold the file open, and the lock with it
				_ = lock.Close()
			}, nil
		}
		select {
		case <-ctx.Done():
			_ = lock.Close()
			return nil, Failure(err, "another command is changing the contexts and has not finished", "Wait for it, then try again.")
		case <-tick.C:
		}
	}
}
