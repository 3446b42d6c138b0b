package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/config"
)

func (sh Commands) demoCommand() *cobra.Command {
	port := 8484
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Start a throw-away server full of made-up data, to look around",
		Args:  shell.Needs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if sh.Demo == nil {
				return notBuilt("demo")
			}
			return sh.demo(cmd.Context(), port)
		},
	}
	cmd.Flags().IntVar(&port, "port", port, "`PORT` to listen on, on this machine; 0 is any free one")
	return cmd
}

// demo serves from a folder of its own until ctx ends.
func (sh Commands) demo(ctx context.Context, port int) error {
	folder, err := os.MkdirTemp("", "lineshaft-demo-")
	if err != nil {
		return fmt.Errorf("create a folder for the demo: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // what is left is a folder of made-up data
	secret := make([]byte, 20)
	_, _ = rand.Read(secret) // never fails
	key := "ls_" + hex.EncodeToString(secret)
	// Nothing of this machine's settings: what a demo does is the same everywhere.
	cfg, err := config.Load(config.Sources{
		Environ: []string{"LINESHAFT_ADMIN_KEY=" + key},
		Flags: map[string][]string{
			"listen": {fmt.Sprintf("127.0.0.1:%d", port)}, "data-dir": {filepath.Join(folder, "data")}, "log-level": {"error"}, "isolation": {"none"},
			"callback-allow-private": {"true"}, // its receivers are in this process
		},
	})
	if err != nil {
		return shell.Usage("the demo cannot start:\n"+err.Error(), "Choose another port with --port.")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	receiver, err := newDemoReceiver(ctx)
	if err != nil {
		return err
	}
	defer receiver.stop()
	team, err := newDemoTeam(key, receiver.at)
	if err != nil {
		return err
	}
	out := &readyWriter{ready: make(chan string, 1)}
	done := make(chan error, 1)
	go func() { done <- sh.Demo(ctx, cfg, team.clock.now, out, sh.logger(cfg)) }()
	select {
	case err := <-done:
		if errors.Is(err, syscall.EADDRINUSE) {
			return shell.Failure(err, fmt.Sprintf("another program listens on port %d", port), "Choose another port with --port; 0 is any free one.")
		}
		return err
	case team.at = <-out.ready:
		if err := team.furnish(ctx); err != nil && ctx.Err() == nil {
			stop()
			<-done
			return fmt.Errorf("fill the demo: %w", err)
		}
		if ctx.Err() == nil {
			_, _ = fmt.Fprintf(sh.Out, "The demo is ready at %s\n\n  Sign in with  %s\n\nStop it with Ctrl-C; nothing is kept.\n", team.at, key) // for a person who reads it or not
		}
		team.goOn(ctx)
		return <-done
	}
}

// readyWriter takes a server's banner and says where the server is.
type readyWriter struct {
	mu    sync.Mutex
	text  bytes.Buffer
	ready chan string
}

var readyLine = regexp.MustCompile(`is ready at (http\S+)`)

// Write implements io.Writer.
func (w *readyWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	if found := readyLine.FindSubmatch(w.text.Bytes()); found != nil {
		w.text.Reset()
		select {
		case w.ready <- string(found[1]):
		default:
		}
	}
	return len(p), nil
}
