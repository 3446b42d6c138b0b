package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/sandbox"
	"github.com/lineshaft/lineshaft/internal/workspace"
)

// uploads are what an execution stored, as "kind name path type".
func (c *fakeControl) uploads(id string) []string {
	run, unlock := c.lock(id)
	defer unlock()
	var out []string
	for _, u := range run.uploads {
		out = append(out, strings.Join([]string{string(u.Kind), u.FileName, u.FilePath, u.MimeType}, " "))
	}
	return out
}

func (c *fakeControl) blob(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.blobs[id])
}

func (c *fakeControl) notices(id string) string {
	return strings.Join(c.texts(id, lineshaft.EventNotice), "\n")
}

const snapshotUpload = "snapshot workspace.tar.gz  application/gzip"

// first is the job of a run's first execution, resumed that of a later one.
func first(id, message string) lineshaft.Job {
	j := job(id, message)
	j.RunID = "run-1"
	return j
}

func resumed(id string, number int, message string) lineshaft.Job {
	j := first(id, message)
	j.Number, j.Resumed = number, true
	j.Turn.FollowupID = "f"
	return j
}

func TestR11ArtifactsAndSnapshot(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		c := newControl(t)
		run, unlock := c.lock("a")
		run.next = []lineshaft.Turn{{FollowupID: "f", Message: script(`echo second > "$LINESHAFT_ARTIFACTS/second.txt"`)}}
		unlock()
		real(t, c, s, Config{})
		c.jobs <- first("a", script(
			`mkdir "$LINESHAFT_ARTIFACTS/sub"; echo report > "$LINESHAFT_ARTIFACTS/sub/report.txt"`,
			`ln -s /etc/hostname "$LINESHAFT_ARTIFACTS/leak"`, "echo work > work.txt"))
		c.ended("a", 2)
		want := []string{
			"artifact report.txt sub/report.txt text/plain; charset=utf-8", snapshotUpload,
			"artifact second.txt second.txt text/plain; charset=utf-8",
		}
		if got := c.uploads("a"); !slices.Equal(got, want) {
			t.Errorf("uploads %q, want %q", got, want)
		}
		if got := c.blob("artifact-a-sub/report.txt"); got != "report\n" {
			t.Errorf("artifact %q", got)
		}
		if got := c.notices("a"); !strings.Contains(got, `"leak" was left out`) {
			t.Errorf("notices %s", got)
		}
	})
}

// the same folder while the worker has it, else the snapshot, else a new
// one; the log says which.
func TestR6WorkspaceOfALaterExecution(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		c := newControl(t)
		w := real(t, c, s, Config{})
		run := func(j lineshaft.Job, notice string) {
			t.Helper()
			c.jobs <- j
			if result := c.ended(j.ExecutionID, 1); result.State != lineshaft.Succeeded {
				t.Errorf("%s: %+v", j.ExecutionID, result)
			}
			if got := c.notices(j.ExecutionID); !strings.Contains(got, notice) {
				t.Errorf("%s: notices %s", j.ExecutionID, got)
			}
		}
		run(first("a", script("echo one > file; chmod 600 file; mkdir deep; ln -s ../file deep/link")), "A new, empty workspace was created.")
		run(resumed("b", 2, script("cat file; echo two >> deep/link")), "is still here and is used again")
		c.said("b", "one")
		if err := w.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		w = real(t, c, s, Config{}) // with another data directory
		third := resumed("c", 3, script("cat deep/link; echo three >> file"))
		third.Snapshot = "snapshot-b-"
		run(third, "was restored from the newest snapshot")
		c.said("c", `one\ntwo\n`)
		fourth := resumed("d", 5, script("test ! -e file")) // the fourth was elsewhere and left no snapshot
		run(fourth, "left no files in its workspace")
		fifth := resumed("e", 7, script("test ! -e file"))
		fifth.Snapshot = "gone"
		run(fifth, "could not be restored")
		sixth := resumed("f", 9, script("test ! -e file"))
		sixth.Snapshot = "torn"
		c.mu.Lock()
		c.blobs["torn"] = c.blobs["snapshot-b-"][:40]
		c.mu.Unlock()
		run(sixth, "could not be restored")
		if err := w.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestR2AttachmentsArePlacedForEachTurn(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		c := newControl(t)
		c.blobs["blob-1"], c.blobs["blob-2"] = []byte(`{"action":"opened"}`), []byte("second")
		run, unlock := c.lock("a")
		run.next = []lineshaft.Turn{{
			FollowupID: "f", Message: script("cat more.txt; echo x >> event-payload.json"),
			Attachments: []lineshaft.Attachment{{FileName: "more.txt", BlobID: "blob-2"}},
		}}
		unlock()
		var fails atomic.Int32
		c.fail = func(method string) error {
			if method == "Download" && fails.Add(1) == 1 {
				return errOutage // and again
			}
			return nil
		}
		real(t, c, s, Config{})
		j := job("a", script("cat event-payload.json; test ! -e more.txt"))
		j.Turn.Attachments = []lineshaft.Attachment{{FileName: "event-payload.json", BlobID: "blob-1", Size: 19}}
		c.jobs <- j
		for n := range 2 {
			if result := c.ended("a", n+1); result.State != lineshaft.Succeeded {
				t.Errorf("turn %d: %+v", n+1, result)
			}
		}
		if got := strings.Join(c.texts("a", lineshaft.EventOutput), ""); got != `{"action":"opened"}second` {
			t.Errorf("said %q", got)
		}
	})
}

func TestX4AttachmentThatIsGoneFails(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	real(t, c, sandbox.NewNone(harnesstest.Options()), Config{})
	for id, a := range map[string]lineshaft.Attachment{"a": {FileName: "x.txt", BlobID: "gone"}, "b": {FileName: ".lineshaft", BlobID: "here"}} {
		c.mu.Lock()
		c.blobs["here"] = []byte("x")
		c.mu.Unlock()
		j := job(id, script("echo never"))
		j.Turn.Attachments = []lineshaft.Attachment{a}
		c.jobs <- j
		if result := c.ended(id, 1); result.State != lineshaft.Failed || result.Code != lineshaft.CodeEnvironmentSetupFailed || !strings.Contains(result.Message, a.FileName) {
			t.Errorf("result %+v", result)
		}
		if got := c.texts(id, lineshaft.EventOutput); len(got) != 0 {
			t.Errorf("the agent ran: %q", got)
		}
	}
}

// folder is an agent in this process that works in its workspace.
type folder struct {
	work func(dir string, turn lineshaft.Turn) error
}

func (f folder) Name() string { return "folder" }

func (f folder) Open(_ context.Context, env harness.Environment) (harness.Session, error) {
	return folderSession{f, env.Dir}, nil
}

type folderSession struct {
	folder
	dir string
}

func (f folderSession) Turn(_ context.Context, turn lineshaft.Turn, _ harness.Emit) (lineshaft.TurnResult, error) {
	if err := f.work(f.dir, turn); err != nil {
		return lineshaft.TurnResult{}, err
	}
	return done()
}

func (f folderSession) Close(context.Context) error { return nil }

// in starts a worker with an agent that works in its folder.
func in(t *testing.T, c *fakeControl, config Config, work func(dir string, turn lineshaft.Turn) error) *Worker {
	t.Helper()
	config.Harnesses = harness.Set{Harnesses: []harness.Harness{folder{work}}, Default: "folder"}
	return start(t, c, config)
}

func leave(name string) func(string, lineshaft.Turn) error {
	return func(dir string, _ lineshaft.Turn) error {
		return os.WriteFile(filepath.Join(dir, name), []byte("content"), 0o600)
	}
}

// kept until the idle time is over, then removed; an empty one goes at once.
func TestX4WorkspaceIsRemovedAfterIdleTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		data := t.TempDir()
		c := newControl(t)
		in(t, c, Config{DataDir: data}, func(dir string, turn lineshaft.Turn) error {
			if turn.Message == "empty" {
				return nil
			}
			return leave("file")(dir, turn)
		})
		left := func() string {
			entries, err := os.ReadDir(filepath.Join(data, "workspaces"))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, entry := range entries {
				names = append(names, entry.Name())
			}
			return strings.Join(names, " ")
		}
		for id, idle := range map[string]int{"now": 0, "soon": 2, "later": 30} {
			j := job(id, "")
			j.Config.IdleTimeoutMinutes = number(idle)
			c.jobs <- j
			c.ended(id, 1)
		}
		c.jobs <- job("empty", "empty")
		c.ended("empty", 1)
		advance(time.Second)
		if got := left(); got != "run-later run-soon" {
			t.Errorf("left after a second: %s", got)
		}
		advance(2*time.Minute + sweepPause)
		if got := left(); got != "run-later" {
			t.Errorf("left after two minutes: %s", got)
		}
		advance(30 * time.Minute)
		if got := left(); got != "" {
			t.Errorf("left after half an hour: %s", got)
		}
		if got := c.uploads("empty"); len(got) != 0 {
			t.Errorf("uploads of an empty workspace: %q", got)
		}
	})
}

// The run's end implies its snapshot; one of what has not changed is not taken.
func TestR6SnapshotBeforeEachEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		run, unlock := c.lock("a")
		run.next = []lineshaft.Turn{{FollowupID: "f", Message: "idle"}, {FollowupID: "g", Message: "work"}}
		unlock()
		in(t, c, Config{}, func(dir string, turn lineshaft.Turn) error {
			if turn.Message == "idle" {
				return nil
			}
			return leave("file-"+turn.Name())(dir, turn)
		})
		c.jobs <- job("a", "work")
		c.ended("a", 3)
		c.mu.Lock()
		defer c.mu.Unlock()
		var order []string
		for _, call := range c.calls {
			if strings.HasPrefix(call, "Upload") || call == "EndTurn" {
				order = append(order, call)
			}
		}
		if want := []string{"Upload snapshot", "EndTurn", "EndTurn", "Upload snapshot", "EndTurn"}; !slices.Equal(order, want) {
			t.Errorf("order %q, want %q", order, want)
		}
	})
}

func TestR6UploadsAreRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		var tries atomic.Int32
		c.fail = func(method string) error {
			if strings.HasPrefix(method, "Upload") && tries.Add(1)%3 != 0 {
				return errOutage
			}
			return nil
		}
		in(t, c, Config{}, func(dir string, turn lineshaft.Turn) error {
			return errors.Join(leave("file")(dir, turn), leave(workspace.ArtifactsDir+"/one")(dir, turn), leave(workspace.ArtifactsDir+"/two")(dir, turn))
		})
		c.jobs <- job("a", "")
		c.ended("a", 1)
		want := []string{"artifact one one text/plain; charset=utf-8", "artifact two two text/plain; charset=utf-8", snapshotUpload}
		if got := c.uploads("a"); !slices.Equal(got, want) {
			t.Errorf("uploads %q, want %q", got, want)
		}
	})
}

// Files that cannot be stored are reported in the log; the run ends all the same.
func TestR11TroubleWithFilesDoesNotFailTheRun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		config Config
		answer error
		notice string
		within time.Duration
	}{
		{"refused", Config{}, &lineshaft.Error{Code: lineshaft.CodePayloadTooLarge, Message: "no"}, `Artifact "big" was refused by the server: no.`, 0},
		{"away for long", Config{}, errOutage, "Some artifacts could not be stored.", uploadTime},
		{"too large", Config{Workspace: workspace.Limits{SnapshotBytes: 3, ArtifactBytes: 3}}, nil, "No snapshot was taken: the workspace is too large.", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newControl(t)
				c.fail = func(method string) error {
					if strings.HasPrefix(method, "Upload") {
						return test.answer
					}
					return nil
				}
				in(t, c, test.config, func(dir string, turn lineshaft.Turn) error {
					return errors.Join(leave("file")(dir, turn), leave(workspace.ArtifactsDir+"/big")(dir, turn))
				})
				began := time.Now()
				c.jobs <- job("a", "")
				if result := c.ended("a", 1); result.State != lineshaft.Succeeded {
					t.Errorf("result %+v", result)
				}
				if got := c.notices("a"); !strings.Contains(got, test.notice) {
					t.Errorf("notices %s", got)
				}
				if took := time.Since(began); took != test.within {
					t.Errorf("took %v, want %v", took, test.within)
				}
			})
		})
	}
}

// An upload that is answered with a conflict means that the run is gone.
func TestX1ConflictOfAnUpload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		c.fail = func(method string) error {
			if strings.HasPrefix(method, "Upload") {
				return lineshaft.Conflict("taken over")
			}
			return nil
		}
		in(t, c, Config{}, leave("file"))
		c.jobs <- job("a", "")
		if result := c.ended("a", 1); result.State != lineshaft.Cancelled || !result.Dead {
			t.Errorf("result %+v", result)
		}
	})
}

// A cancelled run that continues at once waits for its folder, not for another one.
func TestR6ContinuedWhileTheCancelledOneEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		in(t, c, Config{Slots: 2}, func(dir string, turn lineshaft.Turn) error {
			if turn.FollowupID != "" {
				_, err := os.Stat(filepath.Join(dir, "file"))
				return err
			}
			err := leave("file")(dir, turn)
			<-time.After(5 * time.Second) // does not listen
			return err
		})
		c.jobs <- first("a", "")
		advance(time.Second)
		c.stop("a")
		c.jobs <- resumed("b", 2, "go on")
		if result := c.ended("b", 1); result.State != lineshaft.Succeeded {
			t.Errorf("result %+v", result)
		}
		if got := c.notices("b"); !strings.Contains(got, "used again") {
			t.Errorf("notices %s", got)
		}
	})
}

// early notes what is in the workspace when the agent is started.
type early struct {
	folder
	seen chan string
}

func (e early) Open(ctx context.Context, env harness.Environment) (harness.Session, error) {
	text, err := os.ReadFile(filepath.Join(env.Dir, "event-payload.json"))
	if err == nil {
		_, err = os.Stat(filepath.Join(env.Dir, workspace.ArtifactsDir))
	}
	e.seen <- fmt.Sprint(string(text), err)
	return e.folder.Open(ctx, env)
}

// An agent that is started when its session opens has the first turn's files then:
// the sandbox gives it what exists then.
func TestX4FilesOfTheFirstTurnAreThereWhenTheAgentStarts(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	c.blobs["blob-1"] = []byte("payload")
	agent := early{folder{func(string, lineshaft.Turn) error { return nil }}, make(chan string, 1)}
	start(t, c, Config{Harnesses: harness.Set{Harnesses: []harness.Harness{agent}, Default: "folder"}})
	j := job("a", "")
	j.Turn.Attachments = []lineshaft.Attachment{{FileName: "event-payload.json", BlobID: "blob-1", Size: 7}}
	c.jobs <- j
	if result := c.ended("a", 1); result.State != lineshaft.Succeeded {
		t.Errorf("result %+v", result)
	}
	if got := <-agent.seen; got != "payload<nil>" {
		t.Errorf("saw %q", got)
	}
}
