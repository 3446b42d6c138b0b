//go:build linux

package worker

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// steps are what an execution said of its environment.
func (f *floor) steps(id string) (steps []lineshaft.EnvironmentStep) {
	run, unlock := f.c.lock(id)
	defer unlock()
	for _, d := range run.events {
		var data lineshaft.NoticeData
		if d.Type == lineshaft.EventNotice && json.Unmarshal(d.Data, &data) == nil && data.Environment != nil {
			steps = append(steps, *data.Environment)
		}
	}
	return steps
}

// kinds are the kinds of steps.
func kinds(steps []lineshaft.EnvironmentStep) string {
	var all []string
	for _, s := range steps {
		all = append(all, s.Step)
	}
	return strings.Join(all, " ")
}

// the log says in a form for programs how an environment was made ready, what each step cost, and what is kept.
func TestX14StepsOfAnEnvironment(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, way func(*Config)) {
		f := newFloor(t, way)
		f.run("a", script("true"), shopSetup(), nil)
		f.run("b", script("true"), shopSetup(), nil)
		f.push("main", "the second shop\n")
		f.run("c", script("true"), shopSetup(), nil)
		cold, warm, newer := f.steps("a"), f.steps("b"), f.steps("c")
		const wanted = "cold clone command command kept, warm, files checkout command command newer kept"
		if got := kinds(cold) + ", " + kinds(warm) + ", " + kinds(newer); got != wanted {
			t.Fatalf("got %s", got)
		}
		if cold[1].Name != "acme/shop" || newer[1].Name != "acme/shop" || !strings.HasPrefix(cold[3].Name, "ln -s ../tool") {
			t.Errorf("the parts of %+v and %+v", cold, newer)
		}
		for _, step := range slices.Concat(cold[1:], warm, newer) {
			if step.TookSeconds <= 0 || step.TookSeconds > 600 {
				t.Errorf("%s %s took %g s", step.Step, step.Name, step.TookSeconds)
			}
		}
		kept := cold[len(cold)-1]
		if cold[0].Step != "cold" || cold[0].Reason == "" || kept.Step != "kept" || kept.Bytes == 0 || kept.Layer == "" {
			t.Errorf("cold %+v", cold)
		}
		on := warm[0]
		same := on.Layer == kept.Layer && on.Bytes == kept.Bytes && on.Files == kept.Files
		if on.Step != "warm" || !same || on.SavedSeconds < 0 || on.Worker == "" {
			t.Errorf("warm %+v on %+v", on, kept)
		}
		files, start, again := newer[0], newer[len(newer)-2], newer[len(newer)-1]
		if files.Layer != kept.Layer || start.Layer != kept.Layer || again.Layer == kept.Layer {
			t.Errorf("newer %+v on %+v", newer, kept)
		}
		want(t, f.c.notices("a"), "It is kept for later runs as layer "+kept.Layer)
		want(t, f.c.notices("b"), "Warm start on layer "+kept.Layer+": ")
		want(t, f.c.notices("c"), "Warm start on layer "+kept.Layer+": ", "It is kept for later runs as layer "+again.Layer)
	})
}

// the log of a run says that what it prepared is not kept, also when that turns out later.
func TestX14LogSaysThatNothingIsKept(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, way func(*Config)) {
		f := newFloor(t, way, func(c *Config) { c.CacheBytes = 14_000_000 })
		p := shopSetup()
		p.SetupCommands, p.RefreshCommands = []string{"head -c 8000000 /dev/zero > large"}, []string{"echo more > more"}
		_, notices := f.run("a", script("true"), p, nil)
		want(t, notices, "It is kept for later runs")
		f.push("main", "the second shop\n")
		_, notices = f.run("b", script("cat more"), p, nil)
		want(t, notices, "for an earlier commit", "is not kept for later runs: there is no room for it: all others are in use or being made")
		refuse(t, notices, "It is kept")
		steps := f.steps("b")
		if last := steps[len(steps)-1]; last.Step != "unkept" || last.Worker == "" || !strings.HasPrefix(last.Reason, "there is no room for it") {
			t.Errorf("steps %+v", steps)
		}
	})
}

// a workspace that was kept does not go onto a layer that was damaged while the worker was away.
func TestX14KeptWorkspaceOnADamagedLayer(t *testing.T) {
	t.Parallel()
	f := newFloor(t, func(c *Config) { c.Workspace.WholeBytes = 1 })
	if f.w.views == nil {
		t.Skip("no overlays on this machine: a copy needs no layer")
	}
	f.run("a", script("true"), shopSetup(), nil)
	show := script("echo BEGIN; cat dated mine")
	found, notices := f.run("b", script("echo mine > mine; echo BEGIN; cat dated mine"), shopSetup(), nil)
	want(t, notices, f.word())
	f.restart(func() {
		names, err := filepath.Glob(filepath.Join(f.data, "prepared", "layers", "*", "tree", "dated"))
		if err != nil || len(names) != 1 {
			t.Fatalf("%v, %v", names, err)
		}
		info, err := os.Stat(names[0])
		if err == nil {
			err = os.WriteFile(names[0], []byte("bad\n"), 0o600) // as long as before
		}
		if err == nil {
			err = os.Chtimes(names[0], info.ModTime(), info.ModTime())
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if got := f.follow(again("b2", "b", 2, show, shopSetup()), "was restored from the newest snapshot"); got != found {
		t.Errorf("the follow-up finds\n%s\nwant\n%s", got, found)
	}
}

// a workspace that waits for a follow-up does not keep others from being prepared: it makes way if there is a snapshot of
// it, and the follow-up continues with that.
func TestX14KeptWorkspaceMakesWay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		snapshot    int64
		third, then string
	}{
		"with a snapshot":    {0, "It is kept for later runs", "was restored from the newest snapshot"},
		"without a snapshot": {1, "is not kept for later runs: there is no room for it: all others are in use or being made", "is still here and is used again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFloor(t, func(c *Config) {
				c.CacheBytes, c.Workspace.WholeBytes, c.Workspace.SnapshotBytes = 14_000_000, 1, test.snapshot
			})
			if f.w.views == nil {
				t.Skip("no overlays on this machine: a copy needs no layer")
			}
			large := func(revision string) lineshaft.Preparation {
				return lineshaft.Preparation{Revision: revision, SetupCommands: []string{"head -c 8000000 /dev/zero | tr '\\0' x > large"}}
			}
			const show = "echo BEGIN; cksum large mine; ls"
			f.run("a", script("true"), large("one"), nil)
			found, notices := f.run("b", script("echo mine > mine; "+show), large("one"), nil)
			want(t, notices, "Warm start", f.word())
			_, notices = f.run("c", script("rm large"), large("two"), nil)
			want(t, notices, "Cold start", test.third)
			if layers, bytes := f.w.Prepared(); layers != 1 || bytes > 14_000_000 {
				t.Errorf("%d layers of %d bytes", layers, bytes)
			}
			if got := f.follow(again("b2", "b", 2, script(show), large("one")), test.then); got != found {
				t.Errorf("the follow-up finds\n%s\nwant\n%s", got, found)
			}
		})
	}
}
