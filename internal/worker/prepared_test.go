package worker

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// listing prints everything in a workspace that a run can see: names, kinds, modes,
// times, targets and contents. The index of git knows inodes, so it is not compared.
const listing = `cd "$LINESHAFT_WORKSPACE" && find . ! -name index ! -path './.lineshaft*' ! -path '*/logs/*' -printf '%p %y %m %l ' ` +
	`\( -type f -exec sha256sum '{}' ';' -o -printf '\n' \) | LC_ALL=C sort; git -C shop status --porcelain; git -C shop log -1 --format=%H`

// floor is a worker that keeps what it prepares, with a forge.
type floor struct {
	*testing.T
	c      *fakeControl
	w      *Worker
	f      *forge
	commit string
	data   string
	config Config
	mu     sync.Mutex
	starts []Start
	saved  time.Duration
}

func newFloor(t *testing.T, change ...func(*Config)) *floor {
	t.Helper()
	s := sandbox.NewBubblewrap(harnesstest.Options())
	if err := s.Check(t.Context()); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("bubblewrap must work in CI: %v", err)
		}
		t.Skipf("bubblewrap does not work on this machine: %v", err)
	}
	return newFloorIn(t, s, change...)
}

// newFloorIn is newFloor with another sandbox.
func newFloorIn(t *testing.T, s sandbox.Sandbox, change ...func(*Config)) *floor {
	t.Helper()
	f := &floor{T: t, c: newControl(t), data: t.TempDir()}
	f.f, f.commit = newForge(t)
	config := Config{Git: f.f, CacheBytes: 1 << 30, CacheAge: time.Hour, DataDir: f.data, SetUp: func(start Start, saved time.Duration) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.starts, f.saved = append(f.starts, start), f.saved+saved
	}}
	for _, set := range change {
		set(&config)
	}
	f.config, f.w = config, real(t, f.c, s, config)
	return f
}

// run starts a run, waits for its end and for the layer it may leave, and gives what it
// printed and its notices.
func (f *floor) run(id, message string, p lineshaft.Preparation, secrets lineshaft.SecretValues) (printed, notices string) {
	f.Helper()
	j := preparing(job(id, message), p)
	j.Secrets = secrets
	f.c.jobs <- j
	if result := f.c.ended(id, 1); result.State != lineshaft.Succeeded {
		all, _ := f.c.text(id)
		f.Fatalf("%s ended %+v\n%s", id, result, all)
	}
	f.w.layers.Wait()
	_, printed = f.c.text(id)
	if at := strings.LastIndex(printed, "BEGIN\n"); at >= 0 {
		printed = printed[at:]
	}
	return printed, f.c.notices(id)
}

func (f *floor) started() []Start {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.starts
}

// push makes another commit in acme/shop.
func (f *floor) push(branch, text string) {
	f.Helper()
	dir := filepath.Join(f.f.dir, "acme", "shop")
	if err := os.WriteFile(filepath.Join(dir, "src", "main.txt"), []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
	for _, args := range []string{"checkout --quiet -B " + branch, "commit --quiet -am change", "checkout --quiet main"} {
		if out, err := git(f.Context(), dir, strings.Fields(args)...); err != nil {
			f.Fatalf("git %s: %v: %s", args, err, out)
		}
	}
}

func want(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in\n%s", w, text)
		}
	}
}

func refuse(t *testing.T, text string, refused ...string) {
	t.Helper()
	for _, r := range refused {
		if strings.Contains(text, r) {
			t.Errorf("%q is in\n%s", r, text)
		}
	}
}

// shopSetup makes what set-up commands make: programs, links, second names, folders that
// nobody writes to, and files with old times.
func shopSetup() lineshaft.Preparation {
	return lineshaft.Preparation{
		Repositories: []lineshaft.Repository{shop()}, Revision: "shop 1",
		SetupCommands: []string{
			`mkdir -p shop/node_modules/.bin empty closed && echo 'echo hi' > shop/node_modules/tool && chmod 755 shop/node_modules/tool`,
			`ln -s ../tool shop/node_modules/.bin/tool; ln shop/node_modules/tool second; ln -s /etc/passwd outside; ln -s nowhere broken
			 printf 'node_modules\n' >> shop/.git/info/exclude || { mkdir shop/.git/info; echo node_modules > shop/.git/info/exclude; }
			 echo old > dated; touch -d 2001-02-03T04:05:06 dated empty; echo x > closed/file; chmod 444 closed/file; chmod 555 closed`,
		},
	}
}

// a second run with the same recipe starts on what the first had, and nothing is
// cloned or run again.
func TestX14SecondRunStartsWarm(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	show := script("echo BEGIN", listing,
		"test second -ef shop/node_modules/tool && echo one file", "stat -c %Y dated empty; shop/node_modules/.bin/tool")
	slow := shopSetup()
	slow.SetupCommands[1] += "; sleep 5" // long, so that even a warm start on a busy machine saves time
	cold, notices := f.run("a", show, slow, nil)
	want(t, notices, "Cold start: nothing like it was prepared on this worker yet",
		"Cloned acme/shop", "Set-up command 2 of 2", "Set-up command 2 of 2 took", "It is kept for later runs as layer ")
	want(t, cold, "one file", "981173106\n981173106", "hi\n", f.commit)
	warm, notices := f.run("b", show, slow, nil)
	want(t, notices, "Warm start on layer ", ": the environment was prepared")
	refuse(t, notices, "Cloning", "Set-up command", "kept for later")
	if warm != cold {
		t.Errorf("the warm run found\n%s\nthe cold one\n%s", warm, cold)
	}
	if got := f.started(); len(got) != 2 || got[0] != StartCold || got[1] != StartWarm || f.saved <= 0 || f.f.count() != 1 {
		t.Errorf("started %v, saved %s, cloned %d times", got, f.saved, f.f.count())
	}
	if layers, bytes := f.w.Prepared(); layers != 1 || bytes <= 0 {
		t.Errorf("%d layers of %d bytes are kept", layers, bytes)
	}
}

// of runs that start together one prepares, and the others start on what it made.
func TestX14RunsThatStartTogether(t *testing.T) {
	t.Parallel()
	const runs = 12
	f := newFloor(t, func(c *Config) { c.Slots = runs })
	for i := range runs {
		f.c.jobs <- preparing(job("t"+strconv.Itoa(i), script("cat dated")), shopSetup())
	}
	for i := range runs {
		if result := f.c.ended("t"+strconv.Itoa(i), 1); result.State != lineshaft.Succeeded {
			t.Errorf("ended %+v", result)
		}
	}
	cold := 0
	for _, start := range f.started() {
		if start == StartCold {
			cold++
		}
	}
	if got := f.started(); len(got) != runs || cold != 1 || f.f.count() != 1 {
		t.Errorf("started %v, cloned %d times", got, f.f.count())
	}
}

// hashes describes everything below a folder.
func hashes(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		all.WriteString(strings.TrimPrefix(path, dir) + " " + info.Mode().String())
		if entry.Type().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all.WriteString(" " + strconv.Quote(string(text)))
		}
		all.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// what set-up wrote with a secret is only for runs that have the very same one.
func TestX14LayersOfSecrets(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	p := lineshaft.Preparation{SetupCommands: []string{`echo "key ${KEY:-none}" > npmrc; test -z "$LINESHAFT_RUN_TOKEN"`}}
	p.Revision = "keys 1"
	show := script(`echo BEGIN; tr a-z A-Z < npmrc; test -n "$LINESHAFT_RUN_TOKEN" && echo has a token`)
	for i, step := range []struct {
		secrets    lineshaft.SecretValues
		says, file string
	}{
		{lineshaft.SecretValues{"KEY": "first-version"}, "Cold start", "KEY FIRST-VERSION\n"},
		{lineshaft.SecretValues{"KEY": "first-version"}, "Warm start", "KEY FIRST-VERSION\n"},
		{nil, "Cold start", "KEY NONE\n"},
		{lineshaft.SecretValues{"KEY": "other-version"}, "Cold start", "KEY OTHER-VERSION\n"},
		{lineshaft.SecretValues{"OTHER": "first-version"}, "Cold start", "KEY NONE\n"},
		{nil, "Warm start", "KEY NONE\n"},
		{lineshaft.SecretValues{"KEY": "first-version", "MORE": "x"}, "Cold start", "KEY FIRST-VERSION\n"},
	} {
		printed, notices := f.run("s"+strconv.Itoa(i), show, p, step.secrets)
		want(t, notices, step.says)
		want(t, printed, step.file, "has a token")
	}
	changed := p
	changed.Revision = "keys 2"
	_, notices := f.run("changed", show, changed, nil)
	want(t, notices, "Cold start")
	// Nothing next to the trees reveals names or values.
	all := hashes(t, filepath.Join(f.data, "prepared"))
	for line := range strings.Lines(all) {
		if strings.Contains(line, "layer.json") || !strings.Contains(line, "/tree/") {
			refuse(t, line, "first-version", "other-version", "KEY")
		}
	}
}

// a run whose own credentials do not open a repository gets nothing of it.
func TestX14LayersAskForEachRun(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	f.run("a", script("true"), shopSetup(), nil)
	f.f.closed = "revoked"
	p := shopSetup()
	p.GitCredentials = "revoked"
	f.c.jobs <- preparing(job("b", script("ls")), p)
	result := f.c.ended("b", 1)
	if want(t, result.Message, "acme/shop could not be cloned: access was refused"); result.State != lineshaft.Failed {
		t.Errorf("ended %+v", result)
	}
}

// a warm start has a branch that moved, and lacks one that was taken back.
func TestX14OtherBranchesAreUpToDate(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	show := script("echo BEGIN; cd shop", "git for-each-ref --format='%(refname)'; git show origin/side:src/main.txt",
		"git status --porcelain; git config my.setting; git fsck")
	p := shopSetup()
	p.SetupCommands = append(p.SetupCommands, "git -C shop config my.setting kept")
	printed, _ := f.run("a", script("git -C shop for-each-ref"), p, nil)
	refuse(t, printed, "side")
	f.push("side", "on the side\n")
	printed, notices := f.run("b", show, p, nil)
	want(t, notices, "Warm start")
	refuse(t, notices, "Set-up command")
	want(t, printed, "refs/remotes/origin/side", "on the side\n", "kept\n")
	refuse(t, printed, " M ", "?? ")
}

// for a newer commit the nearest layer is used, the commit checked out, and the
// commands run on top; the result is also a layer.
func TestX14NewerCommit(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	p := lineshaft.Preparation{Repositories: []lineshaft.Repository{shop()}, Revision: "shop 1", SetupCommands: []string{
		"test -e shop/cache || echo made > shop/cache; echo run >> shop/runs; cat shop/src/main.txt > built",
	}}
	show := script("echo BEGIN; cat built shop/src/main.txt shop/runs; git -C shop status --porcelain; git -C shop log -1 --format=%s")
	f.run("a", show, p, nil)
	f.push("main", "the second shop\n")
	printed, notices := f.run("b", show, p, nil)
	want(t, notices, "Warm start on layer ", ": the environment was prepared for an earlier commit", "Fetching and checking it out took",
		"Checking out commit", "Set-up command 1 of 1", "kept for later runs")
	want(t, printed, "the second shop\nthe second shop\nrun\nrun\n?? cache\n?? runs\nchange\n")
	again, notices := f.run("c", show, p, nil)
	want(t, notices, "Warm start on layer ", ": the environment was prepared")
	refuse(t, notices, "Set-up command", "Checking out")
	if again != printed {
		t.Errorf("then found %s, want %s", again, printed)
	}
	if got := f.started(); len(got) != 3 || got[1] != StartNewer || got[2] != StartWarm {
		t.Errorf("started %v", got)
	}
}

// refresh commands take the place of the set-up commands on top of an older layer,
// and there alone.
func TestX14RefreshCommands(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	p := lineshaft.Preparation{
		Repositories: []lineshaft.Repository{shop()}, Revision: "shop 1",
		SetupCommands: []string{"echo all >> steps"}, RefreshCommands: []string{"echo some >> steps", "cat shop/src/main.txt >> steps"},
	}
	printed, notices := f.run("a", script("echo BEGIN; cat steps"), p, nil)
	want(t, printed, "BEGIN\nall\n")
	refuse(t, notices, "Refresh command")
	f.push("main", "the second shop\n")
	printed, notices = f.run("b", script("echo BEGIN; cat steps"), p, nil)
	want(t, printed, "BEGIN\nall\nsome\nthe second shop\n")
	want(t, notices, "Refresh command 1 of 2: echo some", "Refresh command 2 of 2")
	refuse(t, notices, "Set-up command")
}

// commands that do not succeed on top of an older layer are tried from the start.
func TestX14NewerCommitThatNeedsAColdStart(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	p := lineshaft.Preparation{Repositories: []lineshaft.Repository{shop()}, Revision: "shop 1", SetupCommands: []string{"mkdir shop/once"}}
	f.run("a", script("true"), p, nil)
	f.push("main", "the second shop\n")
	printed, notices := f.run("b", script("echo BEGIN; ls shop"), p, nil)
	want(t, notices, "Warm start", "Cold start: the commands did not succeed on top", "Cloned acme/shop")
	want(t, printed, "once\n")
}

// a damaged or missing layer is a cold start that says so.
func TestX14DamagedLayerIsAColdStart(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(layer string) error{
		"changed": func(layer string) error {
			return os.WriteFile(filepath.Join(layer, "tree", "dated"), []byte("new"), 0o600)
		},
		"gone": os.RemoveAll,
		"less": func(layer string) error { return os.Remove(filepath.Join(layer, "tree", "outside")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFloor(t)
			show := script("echo BEGIN", listing)
			cold, _ := f.run("a", show, shopSetup(), nil)
			layers, err := filepath.Glob(filepath.Join(f.data, "prepared/layers/*"))
			if err != nil || len(layers) != 1 {
				t.Fatalf("layers %q, %v", layers, err)
			}
			if err := damage(layers[0]); err != nil {
				t.Fatal(err)
			}
			found, notices := f.run("b", show, shopSetup(), nil)
			want(t, notices, "Cold start: the prepared environment was damaged", "kept for later runs")
			if found != cold {
				t.Errorf("found\n%s\nwant\n%s", found, cold)
			}
			_, notices = f.run("c", show, shopSetup(), nil)
			want(t, notices, "Warm start")
		})
	}
}

// what is too large to be kept is not, and the run continues.
func TestX14NoRoomForALayer(t *testing.T) {
	t.Parallel()
	f := newFloor(t, func(c *Config) { c.CacheBytes = 4096 })
	for _, id := range []string{"a", "b"} {
		_, notices := f.run(id, script("cat dated"), shopSetup(), nil)
		want(t, notices, "Cold start", "is not kept for later runs: it has something that cannot be kept: more than the 0 MB")
	}
}

// the log of a run says what cannot be kept, and no more than that: no names, which may be secret.
func TestX14LogSaysWhatCannotBeKept(t *testing.T) {
	t.Parallel()
	f := newFloor(t)
	p := lineshaft.Preparation{Revision: "pipe 1", SetupCommands: []string{"mkfifo secretpipe"}}
	_, notices := f.run("a", script("true"), p, nil)
	_, notices, _ = strings.Cut(notices, "The environment was prepared")
	want(t, notices, "is not kept for later runs: it has something that cannot be kept: a pipe or a device.")
	refuse(t, notices, "secret", f.data)
}

// without isolation nothing is kept, because a run could write to it.
func TestX14NoLayersWithoutIsolation(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	f, _ := newForge(t)
	w := real(t, c, sandbox.NewNone(harnesstest.Options()), Config{Git: f, CacheBytes: 1 << 30})
	c.jobs <- preparing(job("a", script("true")), shopSetup())
	if result := c.ended("a", 1); result.State != lineshaft.Succeeded {
		t.Fatalf("ended %+v", result)
	}
	want(t, c.notices("a"), "Cold start: a worker without isolation keeps no prepared environments")
	if layers, _ := w.Prepared(); layers != 0 {
		t.Errorf("%d layers", layers)
	}
}
