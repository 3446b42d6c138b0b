package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/lineshaft/lineshaft/internal/pause"
)

// preparedForge has one large repository, which git's own server gives out.
type preparedForge struct {
	url     string
	dir     string
	commits int
	server  *http.Server
	random  *rand.ChaCha8
}

func newPreparedForge(ctx context.Context, dir string, size preparedSize) (*preparedForge, error) {
	f := &preparedForge{dir: filepath.Join(dir, "bench", "large.git"), random: rand.NewChaCha8([32]byte{14})}
	if _, err := output(ctx, "", "git", "init", "--quiet", "--bare", "--initial-branch=main", f.dir); err != nil {
		return nil, err
	}
	err := f.importing(ctx, func(w *bufio.Writer) {
		f.first(w, size)
		for range size.commits - 1 {
			f.next(w)
		}
	})
	if err != nil {
		return nil, err
	}
	program, err := output(ctx, "", "git", "--exec-path")
	if err != nil {
		return nil, err
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve repository: %w", err)
	}
	f.url = "http://" + l.Addr().String() + "/{owner}/{repo}.git"
	f.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: &cgi.Handler{
		Path:   filepath.Join(program, "git-http-backend"),
		Env:    []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"},
		Stderr: io.Discard,
	}}
	go func() { _ = f.server.Serve(l) }() // it ends with close
	return f, nil
}

func (f *preparedForge) close() error { return f.server.Close() }

// importing gives git a stream of commits.
func (f *preparedForge) importing(ctx context.Context, write func(*bufio.Writer)) error {
	cmd := exec.CommandContext(ctx, "git", "-c", "core.compression=0", "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--done")
	cmd.Dir, cmd.Stderr = f.dir, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("make repository: %w", err)
	}
	w := bufio.NewWriterSize(in, 1<<20)
	write(w)
	_, _ = w.WriteString("done\n") // git says when something is missing
	err = errors.Join(w.Flush(), in.Close(), cmd.Wait())
	if err != nil {
		return fmt.Errorf("make repository: %w", err)
	}
	return nil
}

// first writes the commit with all files. Their contents cannot be compressed.
func (f *preparedForge) first(w *bufio.Writer, size preparedSize) {
	f.header(w)
	buffer := make([]byte, size.bytes/size.files)
	for i := range size.files {
		_, _ = f.random.Read(buffer)
		_, _ = fmt.Fprintf(w, "M 100644 inline src/%03d/%03d/file%d.bin\ndata %d\n", i/1000, i/50%20, i, len(buffer))
		_, _ = w.Write(buffer)
		_ = w.WriteByte('\n')
	}
}

// next writes a commit that changes one file.
func (f *preparedForge) next(w *bufio.Writer) {
	f.header(w)
	text := fmt.Sprintf("commit %d\n", f.commits)
	_, _ = fmt.Fprintf(w, "M 100644 inline changes/%d.txt\ndata %d\n%s\n", f.commits%100, len(text), text)
}

func (f *preparedForge) header(w *bufio.Writer) {
	f.commits++
	const form = "commit refs/heads/main\nmark :%d\ncommitter bench <bench@example.com> %d +0000\ndata 6\nchange\n"
	_, _ = fmt.Fprintf(w, form, f.commits, 1_700_000_000+f.commits)
	if f.server != nil { // another stream: this one does not know the branch
		_, _ = w.WriteString("from refs/heads/main^0\n")
	}
}

// commit adds one.
func (f *preparedForge) commit(ctx context.Context) error { return f.importing(ctx, f.next) }

// setupCommand takes a while and leaves as many files as a small node_modules.
func (s preparedSize) setupCommand(takes time.Duration) string {
	return fmt.Sprintf(`mkdir -p large/node_modules && cd large/node_modules && i=0
while [ $i -lt %d ]; do echo "module $i" > $i.js; i=$((i+1)); done; sleep %.1f`, s.files/25, takes.Seconds())
}

// awaitLayer waits until a layer has its name, and says how much of the disk it takes.
func awaitLayer(ctx context.Context, dir string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
			return diskOf(filepath.Join(dir, entries[0].Name()))
		}
		if !pause.For(ctx, 10*time.Millisecond) { // it is another process that makes it
			return 0, fmt.Errorf("no layer was kept: %w", context.Cause(ctx))
		}
	}
}

// diskOf adds up what a folder takes of its file system, without what is mounted in it.
func diskOf(dir string) (total int64, err error) {
	var device uint64
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		switch {
		case !ok:
			return nil
		case device == 0:
			device = st.Dev
		case st.Dev != device && entry.IsDir():
			return fs.SkipDir
		}
		total += st.Blocks * 512
		return nil
	})
	return total, err
}
