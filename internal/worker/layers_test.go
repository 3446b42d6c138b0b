//go:build linux

package worker

import (
	"context"
	"errors"
	"fmt"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/gateway"
	gitclient "github.com/lineshaft/lineshaft/internal/git"
	"github.com/lineshaft/lineshaft/internal/overlay"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// eachWay tests with layers that runs are on top of, and with copies of them.
func eachWay(t *testing.T, test func(t *testing.T, way func(*Config))) {
	t.Helper()
	for _, way := range []string{"overlay", "copy"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			if err := overlay.Check(t.Context(), t.TempDir()); way == "overlay" && err != nil {
				t.Skipf("no overlays on this machine: %v", err)
			}
			test(t, func(c *Config) { c.NoOverlay = way == "copy" })
		})
	}
}

// word is what the log says of the files of a layer.
func (f *floor) word() string {
	if f.w.views != nil {
		return "files were mounted in"
	}
	return "files were copied in"
}

// mirrored has acme/shop given out by git's own server, so that there is a mirror of it.
func mirrored(t *testing.T, f *forge) (change func(*Config), mirrors string) {
	t.Helper()
	programs, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(programs)), "git-http-backend"),
		Env: []string{
			"GIT_PROJECT_ROOT=" + f.dir, "GIT_HTTP_EXPORT_ALL=1",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		},
	})
	t.Cleanup(server.Close)
	cache := t.TempDir()
	client, err := gitclient.New(gitclient.Config{
		Cache: cache, Forge: server.URL + "/{owner}/{repo}/.git", AllowFile: true, MaxMirrors: 1 << 30,
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) { c.Git = client }, filepath.Join(cache, "mirrors")
}

// whatever a run does to its workspace, the layer and the mirror stay as they are, and
// the next run finds what a cold start gives.
func TestX14HostileRunChangesNothing(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, way func(*Config)) {
		forge, _ := newForge(t)
		git, mirrors := mirrored(t, forge)
		f := newFloor(t, way, git, func(c *Config) { c.Limits = sandbox.Limits{Processes: 60, DiskBytes: 256 << 20} })
		show := script("echo BEGIN", listing)
		cold, _ := f.run("a", show, shopSetup(), nil)
		all := func() string { return hashes(t, filepath.Join(f.data, "prepared", "layers")) + hashes(t, mirrors) }
		before := all()
		f.c.jobs <- preparing(job("b", script(
			"exec 9<second 8>>dated; (setsid sh -c 'exec 7<shop/src/main.txt; sleep 1000' &)",
			"echo poison > shop/node_modules/tool; echo poison >> second; chmod -R 777 closed; ln closed/file third; echo poison > third",
			"printf '[core]\\n fsmonitor = touch /workspace/owned\\n hooksPath = /workspace\\n' >> shop/.git/config",
			"rm -rf shop/.git/objects; echo ref: refs/heads/evil > shop/.git/HEAD; mv shop/node_modules moved; mkdir shop/node_modules",
			"ln -sf /workspace/../../prepared escape; cat escape/key 2>&1; find / -name layer.json 2>/dev/null | head -3",
			"mount -t tmpfs none shop 2>&1; mount --bind / shop 2>&1",
			"unshare -Urm mount -t overlay o -o lowerdir=/workspace,upperdir=/tmp,workdir=/tmp /tmp 2>&1",
			"mount -o remount,rw /workspace 2>&1; umount /workspace 2>&1",
			"mknod shop/device c 1 3 2>&1; chown 0:0 second 2>&1; chattr +i dated 2>&1",
			"setfattr -n trusted.overlay.opaque -v y shop 2>&1; setfattr -n trusted.overlay.redirect -v /../.. shop 2>&1",
			"for i in 1 2 3 4 5 6 7 8 9; do (for j in 1 2 3 4 5 6 7 8 9 10; do sleep 1000 & done) 2>/dev/null; done",
			"chmod 000 empty; rm -rf outside; mkfifo shop/pipe; rm -rf ./* shop/.git; echo EMPTY; head -c 900000000 /dev/zero > big",
		)), shopSetup())
		f.c.ended("b", 1) // in whatever way: its disk is full
		want(t, f.c.notices("b"), "Warm start", f.word())
		if _, printed := f.c.text("b"); strings.Contains(printed, "layer.json") || !strings.Contains(printed, "EMPTY") {
			t.Errorf("a run sees layers, or did not get far:\n%s", printed)
		}
		if after := all(); after != before {
			t.Errorf("a run changed a layer or a mirror:\n%s\nwas\n%s", after, before)
		}
		warm, notices := f.run("c", show, shopSetup(), nil)
		want(t, notices, "Warm start", f.word())
		if warm != cold {
			t.Errorf("after a hostile run there is\n%s\nwant\n%s", warm, cold)
		}
	})
}

// for a newer commit the objects alone come that are new; when the host has taken
// something back, nothing of that is left.
func TestX14NewerCommitFromAMirror(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, way func(*Config)) {
		forge, _ := newForge(t)
		git, _ := mirrored(t, forge)
		f := newFloor(t, way, git)
		f.f = forge
		p := lineshaft.Preparation{
			Repositories: []lineshaft.Repository{shop()}, Revision: "shop 1", SetupCommands: []string{"echo run >> runs"},
		}
		show := script("echo BEGIN; cat shop/src/main.txt; wc -l < runs; cd shop; git status --porcelain",
			"git fsck --full --strict 2>&1; git for-each-ref --format='%(refname)'",
			"ls .git/objects/pack/*.pack | wc -l; git log --all --format=%s; git cat-file --batch-all-objects --batch-check | grep -c commit")
		f.run("a", show, p, nil)
		f.push("main", "the second shop\n")
		newer, notices := f.run("b", show, p, nil)
		want(t, notices, "prepared for an earlier commit", "Checking out commit")
		want(t, newer, "BEGIN\nthe second shop\n2\nrefs/heads/main\nrefs/remotes/origin/HEAD\nrefs/remotes/origin/main\n2\nchange\nfirst\n2\n")
		f.push("leak", "a password\n")
		leaky, _ := f.run("c", show, p, nil)
		want(t, leaky, "refs/remotes/origin/leak\n")
		dir := filepath.Join(forge.dir, "acme", "shop")
		if out, err := gitOutput(t, dir, "branch", "-D", "leak"); err != nil {
			t.Fatal(out)
		}
		f.push("main", "the third shop\n")
		last, notices := f.run("d", show, p, nil)
		want(t, notices, "prepared for an earlier commit")
		want(t, last, "BEGIN\nthe third shop\n3\nrefs/heads/main\nrefs/remotes/origin/HEAD\nrefs/remotes/origin/main\n")
		want(t, last, "\nchange\nchange\nfirst\n3\n")
	})
}

// a folder that is no repository, as a local forge may have, is copied again when it has changed, also where
// set-up commands have made repositories of it and around it.
func TestX14NewerFolderIsNoCommit(t *testing.T) {
	t.Parallel()
	forge, cache := t.TempDir(), t.TempDir()
	client, err := gitclient.New(gitclient.Config{Cache: cache, Forge: forge, AllowFile: true, MaxMirrors: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		name := filepath.Join(forge, "acme", "shop", "code")
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	f := newFloor(t, func(c *Config) { c.Git = client })
	p := lineshaft.Preparation{
		Repositories: []lineshaft.Repository{shop()}, Revision: "shop 1", RefreshCommands: []string{"true"},
		SetupCommands: []string{`for dir in . shop; do (cd $dir && git init -q && git add . && git -c user.name=a -c user.email=a@b commit -qm x); done`},
	}
	write("one\n")
	printed, _ := f.run("a", script("echo BEGIN; cat shop/code"), p, nil)
	want(t, printed, "BEGIN\none\n")
	write("two\n")
	printed, notices := f.run("b", script("echo BEGIN; cat shop/code"), p, nil)
	want(t, printed, "BEGIN\ntwo\n")
	want(t, notices, "Cold start: the environment that was prepared for an earlier commit could not be brought to the newest one")
}

func gitOutput(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	return git(t.Context(), dir, args...)
}

// again is a job that continues a run.
func again(id, run string, number int, message string, p lineshaft.Preparation) lineshaft.Job {
	j := preparing(job(id, message), p)
	j.RunID, j.Number, j.Resumed = "run-"+run, number, true
	j.Snapshot = fmt.Sprintf("%s-%s-", lineshaft.BlobSnapshot, run)
	return j
}

// follow does the job and gives what it printed.
func (f *floor) follow(j lineshaft.Job, says string) string {
	f.Helper()
	f.c.jobs <- j
	if result := f.c.ended(j.ExecutionID, 1); result.State != lineshaft.Succeeded {
		f.Fatalf("%s ended %+v", j.ExecutionID, result)
	}
	want(f.T, f.c.notices(j.ExecutionID), says)
	_, printed := f.c.text(j.ExecutionID)
	return printed[strings.LastIndex(printed, "BEGIN\n"):]
}

// restart stops the worker and starts another in the same folder, or in one of its own.
func (f *floor) restart(between func(), change ...func(*Config)) {
	f.Helper()
	f.w.config.Drain = -1
	if err := f.w.Stop(context.Background()); err != nil {
		f.Fatal(err)
	}
	if between != nil {
		between()
	}
	config := f.config
	for _, set := range change {
		set(&config)
	}
	f.w = real(f.T, f.c, f.w.config.Sandbox, config)
}

// follow-ups find the files of their run, whatever became of the layer and the worker.
func TestX14FollowUpsOfWarmRuns(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, way func(*Config)) {
		f := newFloor(t, way, func(c *Config) { c.Slots, c.Workspace.WholeBytes = 2, 1 })
		whole := f.w.views == nil
		// A clone that is made again also has the newer objects of the host.
		look := "echo BEGIN; { " + listing + "; test ! -e dated && cat mine moved/tool; } | grep -v -e packed-refs -e objects/pack"
		show := script(look)
		f.run("a", script("true"), shopSetup(), nil)
		f.c.jobs <- preparing(job("slot", script("sleep 1000")), shopSetup()) // the follow-up may get another user
		change := "rm dated; echo mine > mine; mv shop/node_modules moved; chmod 700 closed; rm closed/file"
		found, notices := f.run("b", script(change, look), shopSetup(), nil)
		want(t, notices, f.word())
		const here, snapshot = "is still here and is used again", "was restored from the newest snapshot"
		if raw := f.c.blob(fmt.Sprintf("%s-b-", lineshaft.BlobSnapshot)); len(raw) == 0 || !whole && len(raw) > 4000 {
			t.Errorf("the snapshot has %d bytes", len(raw))
		}
		f.push("main", "the second shop\n") // what comes later is not in the run
		check := func(id string, number int, says string) {
			t.Helper()
			if got := f.follow(again(id, "b", number, show, shopSetup()), says); got != found {
				t.Errorf("%s finds\n%s\nwant\n%s", id, got, found)
			}
		}
		check("b2", 2, here)
		f.restart(nil)
		check("b3", 3, here)
		if f.w.views != nil { // what is on top of a layer needs it
			remove := func() {
				if err := os.RemoveAll(filepath.Join(f.data, "prepared", "layers")); err != nil {
					t.Error(err)
				}
			}
			f.restart(remove)
			f.c.cutDownload(2) // the difference that goes onto the environment
			check("b4", 4, snapshot)
		}
		f.restart(nil, func(c *Config) { c.DataDir = t.TempDir() })
		check("b5", 5, snapshot)
		if !whole {
			want(t, f.c.notices("b5"), "it is prepared again", "Set-up command 2 of 2")
		}
		f.run("c", script("true"), shopSetup(), nil)
		f.restart(nil, func(c *Config) { c.DataDir, c.NoOverlay = t.TempDir(), true })
		f.run("d", script("true"), shopSetup(), nil) // so that it has the layer
		check("b6", 6, snapshot)
	})
}

// workers give the same, whether they mount or copy, and after a restart.
func TestX14WorkersAgree(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	show := script("echo BEGIN", listing, "stat -c '%n %h' second closed; stat -c '%n %h %Y' dated empty; id -un")
	cold, _ := f.run("a", show, shopSetup(), nil)
	warm := func(id string) {
		t.Helper()
		got, notices := f.run(id, show, shopSetup(), nil)
		want(t, notices, "Warm start", f.word())
		if got != cold {
			t.Errorf("%s finds\n%s\nwant\n%s", id, got, cold)
		}
	}
	warm("b")
	f.restart(nil)
	warm("c")
	f.restart(nil, func(c *Config) { c.NoOverlay = true })
	warm("d")
	f.restart(nil, func(c *Config) { c.NoOverlay, c.DataDir = true, t.TempDir() })
	if other, _ := f.run("e", show, shopSetup(), nil); other != cold {
		t.Errorf("another worker gives\n%s\nwant\n%s", other, cold)
	}
	warm("f")
}

// on a disk that is full nothing is kept, runs continue, and what was kept stays whole.
func TestX14FullDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	eachWay(t, func(t *testing.T, way func(*Config)) {
		disk := t.TempDir()
		if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=40m,mode=755"); err != nil {
			t.Skipf("no small disk: %v", err)
		}
		t.Cleanup(func() {
			if err := overlay.Clear(disk); err != nil {
				t.Error(err)
			}
		})
		f := newFloor(t, way, func(c *Config) { c.DataDir = filepath.Join(disk, "worker"); c.Workspace.SnapshotBytes = 1 })
		large := lineshaft.Preparation{Revision: "large 1", SetupCommands: []string{"head -c 24000000 /dev/zero > large"}}
		_, notices := f.run("a", script("test -s large && rm large"), large, nil)
		want(t, notices, "is not kept for later runs: there is no room for it: the disk is nearly full")
		small := lineshaft.Preparation{Revision: "small 1", SetupCommands: []string{"head -c 4000000 /dev/zero | tr '\\0' x > small"}}
		f.run("b", script("rm small"), small, nil)
		before := hashes(t, filepath.Join(disk, "worker", "prepared", "layers"))
		_, notices = f.run("c", script("cat /dev/zero > fill; test -s fill; tail -c 9 small; rm fill small || true"), small, nil)
		want(t, notices, "Warm start", f.word())
		if after := hashes(t, filepath.Join(disk, "worker", "prepared", "layers")); after != before || before == "" {
			t.Error("a full disk changed a layer")
		}
		for i := range 3 {
			printed, notices := f.run("d"+strconv.Itoa(i), script("echo BEGIN; cksum small; rm small"), small, nil)
			want(t, notices, "Warm start")
			want(t, printed, " 4000000 small")
		}
	})
}

// set-up that could reach other hosts made something else.
func TestX14HostsArePartOfTheKey(t *testing.T) {
	t.Parallel()
	reach := func(host string) func(*Config) {
		return func(c *Config) { c.Gateway = gateway.New(gateway.Config{Hosts: []string{host}}) }
	}
	f := newFloor(t, reach("registry.example"))
	for i, step := range []struct{ host, says string }{
		{"registry.example", "Cold start"},
		{"registry.example", "Warm start"},
		{"mirror.example", "Cold start"},
		{"registry.example", "Warm start"},
	} {
		f.restart(nil, reach(step.host))
		_, notices := f.run("h"+strconv.Itoa(i), script("true"), shopSetup(), nil)
		want(t, notices, step.says)
	}
}

// another machine, another network, other commands or another image make something else, as far as the worker can tell.
func TestX14MachineIsPartOfTheKey(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	p := shopSetup()
	f.run("a", script("true"), p, nil)
	for name, change := range map[string]func(*Config, *lineshaft.Preparation){
		"version": func(c *Config, _ *lineshaft.Preparation) { c.Version = "other" },
		"network": func(c *Config, _ *lineshaft.Preparation) { c.Network = sandbox.NetworkNone },
		"path":    func(c *Config, _ *lineshaft.Preparation) { c.Path = DefaultPath + ":/opt/other" },
		"image":   func(_ *Config, p *lineshaft.Preparation) { p.Image = "debian:13" },
		"runner":  func(_ *Config, p *lineshaft.Preparation) { p.SetupCommands = append(p.SetupCommands, "true") },
		"refresh": func(_ *Config, p *lineshaft.Preparation) { p.RefreshCommands = []string{"true"} },
	} {
		other := shopSetup()
		f.restart(nil, func(c *Config) { change(c, &other) })
		_, notices := f.run(name, script("true"), other, nil)
		want(t, notices, "Cold start: nothing like it")
	}
	f.restart(nil)
	_, notices := f.run("again", script("true"), p, nil)
	want(t, notices, "Warm start")
}
