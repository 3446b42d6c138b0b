package vault_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/lineshaft/lineshaft/internal/vault"
)

// serverEnv makes this test binary a server that loads, or makes, the key file
// it names, and prints the key's id.
const serverEnv = "VAULT_TEST_KEY_FILE"

func TestMain(m *testing.M) {
	path, ok := os.LookupEnv(serverEnv)
	if !ok {
		os.Exit(m.Run())
	}
	// All servers begin together: when the test closes their standard input.
	_, _ = os.Stdin.Read(make([]byte, 1))
	v, err := vault.Load(context.Background(), vault.Source{File: path, Create: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprint(os.Stdout, v.CurrentID())
	os.Exit(0)
}

func textOf(fill byte) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(rune(fill)), 32)))
}

func load(t *testing.T, s vault.Source) *vault.Vault {
	t.Helper()
	v, err := vault.Load(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// wantRefused loads s and wants an error that says all of says. It
// returns the text of the error.
func wantRefused(t *testing.T, s vault.Source, says ...string) string {
	t.Helper()
	v, err := vault.Load(t.Context(), s)
	if err == nil || v != nil {
		t.Fatalf("Load = %v, %v; want an error", v, err)
	}
	for _, want := range says {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	return err.Error()
}

func TestS1LoadText(t *testing.T) {
	t.Parallel()
	v := load(t, vault.Source{Text: " " + textOf(1) + "\n"})
	if v.CurrentID() != key(t, 1).ID() {
		t.Fatalf("loaded %v", v)
	}
	text := wantRefused(t, vault.Source{Text: "hunter2hunter2"}, "LINESHAFT_MASTER_KEY", "openssl")
	if strings.Contains(text, "hunter2") {
		t.Errorf("%q quotes the text", text)
	}
}

func TestS1LoadWantsOneSource(t *testing.T) {
	t.Parallel()
	for _, s := range []vault.Source{
		{File: "f", Text: textOf(1)},
		{File: "f", Command: []string{"true"}},
		{Text: textOf(1), Command: []string{"true"}},
		{File: "f", Text: textOf(1), Command: []string{"true"}, Create: true},
	} {
		wantRefused(t, s, "more than one source", "LINESHAFT_MASTER_KEY")
	}
	wantRefused(t, vault.Source{}, "no source", "LINESHAFT_MASTER_KEY")
	wantRefused(t, vault.Source{Create: true, Old: []string{textOf(1)}}, "no source")
}

func TestS1LoadOldKeys(t *testing.T) {
	t.Parallel()
	v := load(t, vault.Source{Text: textOf(3), Old: []string{"", textOf(1), " \n", textOf(2) + "\n"}})
	for _, fill := range []byte{1, 2, 3} {
		wantOpen(t, v, "N", seal(t, vault.New(key(t, fill)), "N", "x"), "x")
	}
	if v.CurrentID() != key(t, 3).ID() {
		t.Fatalf("current is %s", v.CurrentID())
	}
	text := wantRefused(t, vault.Source{Text: textOf(3), Old: []string{textOf(1), "hunter2hunter2"}},
		"key 2 of LINESHAFT_MASTER_KEY_OLD")
	if strings.Contains(text, "hunter2") {
		t.Errorf("%q quotes the text", text)
	}
}

func TestS1LoadIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(t.TempDir(), "key")
	if _, err := vault.Load(ctx, vault.Source{File: path, Create: true}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Fatal("made a key file all the same")
	}
}

func TestS1KeyFileIsMadeOnceAndPrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "folder", "master.key")
	s := vault.Source{File: path, Create: true}
	first := load(t, s)
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("key file: %v, %v; want mode 0600", info.Mode(), err)
	}
	if dir, err := os.Stat(filepath.Dir(path)); err != nil || dir.Mode().Perm()&0o077 != 0 {
		t.Fatalf("made folder: %v, %v", dir.Mode(), err)
	}
	sealed := seal(t, first, "N", "value")
	wantOpen(t, load(t, s), "N", sealed, "value")
	wantOpen(t, load(t, vault.Source{File: path}), "N", sealed, "value")
	wantAlone(t, path)
	if other := load(t, vault.Source{File: path + "2", Create: true}); other.CurrentID() == first.CurrentID() {
		t.Fatal("two files got the same key")
	}
}

// wantAlone wants no left-over beside the key file.
func wantAlone(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Fatalf("folder holds %v, %v; want the key file alone", entries, err)
	}
}

func TestS1MissingKeyFileIsNotMadeUnasked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "master.key")
	wantRefused(t, vault.Source{File: path}, path, "restore the file", "openssl rand -base64 32")
	if _, err := os.Stat(path); err == nil {
		t.Fatal("made it")
	}
}

func TestS1KeyFileOpenToOthersIsRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range []os.FileMode{0o640, 0o604, 0o644, 0o620, 0o602, 0o610, 0o601, 0o777} {
		path := keyFile(t, textOf(1), mode)
		for _, create := range []bool{false, true} {
			wantRefused(t, vault.Source{File: path, Create: create}, fmt.Sprintf("%04o", mode), "chmod 600 "+path)
		}
	}
	for _, mode := range []os.FileMode{0o600, 0o400, 0o700} {
		load(t, vault.Source{File: keyFile(t, textOf(1), mode)})
	}
}

// keyFile writes a file with exactly this mode.
func keyFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "master.key")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestS1BrokenKeyFileIsRefusedAndKept(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty": "", "half": textOf(1)[:20], "two": textOf(1) + "\n" + textOf(2), "other": "hunter2hunter2\n",
		"key, then megabytes": textOf(1) + strings.Repeat(" ", 1<<20),
	} {
		path := keyFile(t, text, 0o600)
		said := wantRefused(t, vault.Source{File: path, Create: true}, path, "restore it from a backup", "not a master key")
		if text != "" && strings.Contains(said, text[:8]) {
			t.Errorf("%s: %q quotes the file", name, said)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("%s: the file was changed: %v", name, err)
		}
	}
}

func TestS1KeyFileOfOtherKindIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, pipe} {
		wantRefused(t, vault.Source{File: path, Create: true}, path, "not a regular file")
	}
	// The parent is a file.
	wantRefused(t, vault.Source{File: filepath.Join(keyFile(t, textOf(1), 0o600), "key"), Create: true}, "not a directory")
}

func TestS1KeyFileMayBeALink(t *testing.T) {
	t.Parallel()
	link := func(target string) string {
		path := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if v := load(t, vault.Source{File: link(keyFile(t, textOf(1), 0o400))}); v.CurrentID() != key(t, 1).ID() {
		t.Fatalf("loaded %v", v)
	}
	wantRefused(t, vault.Source{File: link(keyFile(t, textOf(1), 0o644))}, "0644")
	// A link to nowhere, such as a mount that is not there yet, is not filled.
	dangling := link(filepath.Join(t.TempDir(), "gone"))
	wantRefused(t, vault.Source{File: dangling, Create: true}, "no such file")
	wantAlone(t, dangling)
}

func TestS1ConcurrentStartsInOneProcessShareTheKey(t *testing.T) {
	t.Parallel()
	for range 40 { // the window is small
		path := filepath.Join(t.TempDir(), "folder", "master.key")
		ids := make([]string, 8)
		begin := make(chan struct{})
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				<-begin
				v, err := vault.Load(t.Context(), vault.Source{File: path, Create: true})
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = v.CurrentID()
			})
		}
		close(begin)
		wg.Wait()
		wantOne(t, ids, path)
	}
}

// wantOne wants that all starts ended with the key that is in the file.
func wantOne(t *testing.T, ids []string, path string) {
	t.Helper()
	want := load(t, vault.Source{File: path}).CurrentID()
	for i, id := range ids {
		if id != want {
			t.Fatalf("start %d has key %q, the file %q", i, id, want)
		}
	}
	wantAlone(t, path)
}

func TestS1ConcurrentServersShareTheKey(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "master.key")
	gate, open, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	const servers = 6
	cmds := make([]*exec.Cmd, servers)
	outs := make([]strings.Builder, servers)
	for i := range cmds {
		cmds[i] = exec.CommandContext(t.Context(), self)
		cmds[i].Env = append(os.Environ(), serverEnv+"="+path)
		cmds[i].Stdin, cmds[i].Stdout, cmds[i].Stderr = gate, &outs[i], os.Stderr
		if err := cmds[i].Start(); err != nil {
			open.Close()
			t.Fatal(err)
		}
	}
	open.Close() // all read the end of the pipe now
	ids := make([]string, servers)
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Errorf("server %d: %v", i, err)
		}
		ids[i] = outs[i].String()
	}
	wantOne(t, ids, path)
}
