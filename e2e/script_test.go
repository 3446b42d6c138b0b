package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// TestScripts drives the built binary as a person would, on both engines. Besides
// testscript's own commands there are
//
//	serve [flags]                      starts a server; LINESHAFT_URL and LINESHAFT_API_KEY point at it
//	http [!] METHOD PATH [BODY [header…]]  sends a request; prints "STATUS n", headers of interest and the body
//	setenv-line NAME                   sets a variable to the last line of stdout
func TestScripts(t *testing.T) {
	t.Parallel()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		testscript.Run(t, testscript.Params{
			Dir: "testdata/script",
			Setup: func(env *testscript.Env) error {
				link := filepath.Join(env.WorkDir, "bin")
				if err := os.MkdirAll(link, 0o755); err != nil {
					return err
				}
				if err := os.Symlink(bin, filepath.Join(link, "lineshaft")); err != nil {
					return err
				}
				env.Setenv("PATH", link+string(filepath.ListSeparator)+env.Getenv("PATH"))
				env.Setenv("NO_COLOR", "1")
				env.Values["t"] = env.T()
				return nil
			},
			Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
				"serve":       func(ts *testscript.TestScript, _ bool, args []string) { serveScript(t, ts, database, args) },
				"http":        httpScript,
				"setenv-line": setenvLine,
			},
		})
	})
}

// serveScript starts a server for one script, on a database of its own.
func serveScript(t *testing.T, ts *testscript.TestScript, database string, args []string) {
	own := filepath.Join(ts.Getenv("WORK"), "lineshaft.db")
	if strings.HasPrefix(database, "postgres") {
		own = storetest.Postgres(t)
	}
	n := newNode(t, own, args...)
	n.start(t.Context())
	ts.Defer(n.kill)
	ts.Setenv("LINESHAFT_URL", n.url)
	ts.Setenv("LINESHAFT_API_KEY", adminKey)
}

func setenvLine(ts *testscript.TestScript, _ bool, args []string) {
	lines := strings.Split(strings.TrimSpace(ts.ReadFile("stdout")), "\n")
	ts.Setenv(args[0], lines[len(lines)-1])
}

func httpScript(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: http METHOD PATH [BODY [header...]]")
	}
	var body io.Reader
	if len(args) > 2 {
		body = bytes.NewReader([]byte(args[2]))
	}
	req, err := http.NewRequest(args[0], ts.Getenv("LINESHAFT_URL")+args[1], body)
	ts.Check(err)
	if key := ts.Getenv("LINESHAFT_API_KEY"); key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for _, header := range args[min(3, len(args)):] {
		name, value, _ := strings.Cut(header, ": ")
		req.Header.Add(name, value)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	ts.Check(err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	ts.Check(err)
	var out strings.Builder
	fmt.Fprintf(&out, "STATUS %d\n", res.StatusCode)
	for _, name := range []string{"Content-Type", "Allow", "Retry-After", "X-Should-Retry", "Idempotent-Replayed", "Location"} {
		if value := res.Header.Get(name); value != "" {
			fmt.Fprintf(&out, "%s: %s\n", name, value)
		}
	}
	out.Write(text)
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("WORK"), "response"), []byte(out.String()), 0o600))
	_, err = fmt.Fprintln(ts.Stdout(), out.String())
	ts.Check(err)
}
