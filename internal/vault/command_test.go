package vault

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// rawSecret is the key of these tests; each spelling of it must stay unseen.
func rawSecret() []byte {
	return []byte("\xfb\xff\xbf\x3e\xff0123456789abcdefghijklmnopq")
}

func secretText() string { return base64.StdEncoding.EncodeToString(rawSecret()) }

func sh(script string, args ...string) []string {
	return append([]string{"/bin/sh", "-c", script, "sh"}, args...)
}

func TestS1CommandPrintsTheKey(t *testing.T) {
	t.Parallel()
	want, err := NewKey(rawSecret())
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"echo " + secretText(), "echo; echo ' " + hex.EncodeToString(rawSecret()) + " '", "echo noise >&2; printf %s " + secretText()} {
		v, err := Load(t.Context(), Source{Command: sh(script)})
		if err != nil || v.CurrentID() != want.ID() {
			t.Errorf("%s: %v, %v", script, v, err)
		}
	}
}

func TestS1CommandSeesACleanEnvironment(t *testing.T) {
	t.Setenv("LINESHAFT_ADMIN_KEY", "ls_not-for-others")
	env, err := exec.LookPath("env")
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr := &capture{limit: maxKeyText}, &capture{limit: maxKeyText}
	if err := runCommand(t.Context(), []string{env}, stdout, stderr); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Fields(string(stdout.kept)) {
		if name, _, _ := strings.Cut(line, "="); name != "PATH" && name != "HOME" {
			t.Errorf("the command sees %q", line)
		}
	}
	if !bytes.Contains(stdout.kept, []byte("PATH="+os.Getenv("PATH"))) {
		t.Errorf("no PATH in %q", stdout.kept)
	}
}

func TestS1CommandFailures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		argv []string
		says []string
	}{
		"fails":          {sh("echo no such entry >&2; exit 3"), []string{"exit status 3", "no such entry"}},
		"fails in quiet": {sh("exit 3"), []string{"exit status 3", "standard error: nothing"}},
		"key, then fails": {
			sh("echo " + secretText() + "; exit 1"),
			[]string{"exit status 1"},
		},
		"prints nothing":      {sh("true"), []string{"not a master key"}},
		"prints rubbish":      {sh("echo rubbish-is-not-a-key"), []string{"not a master key"}},
		"prints two keys":     {sh(`echo "$1"; echo "$1"`, secretText()), []string{"not a master key"}},
		"prints without end":  {sh("exec yes " + secretText()), []string{"far more than a key"}},
		"talks without end":   {sh("i=0; while [ $i -lt 5000 ]; do echo word; i=$((i+1)); done >&2; exit 1"), []string{"exit status 1", "word word", "..."}},
		"killed":              {sh("kill -9 $$"), []string{"killed"}},
		"not there":           {[]string{"/nowhere/get-key", "--token=" + secretText()}, []string{"get-key", "no such file"}},
		"not on the path":     {[]string{"lineshaft-no-such-program"}, []string{"lineshaft-no-such-program", "not found"}},
		"whole line, no list": {[]string{"get-key --token=" + secretText()}, []string{"key command get-key: start:"}},
		"empty name":          {[]string{""}, []string{"start"}},
		"folder":              {[]string{t.TempDir()}, []string{"permission denied"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := Load(t.Context(), Source{Command: test.argv})
			if err == nil || v != nil {
				t.Fatalf("Load = %v, %v", v, err)
			}
			for _, want := range test.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "rubbish") || len(err.Error()) > 1024 || strings.Contains(err.Error(), "\n") {
				t.Errorf("quotes the output or is too long: %q", err)
			}
			wantUnseen(t, err)
		})
	}
}

// wantUnseen fails if err, in any form, has eight characters in a row of the key.
func wantUnseen(t *testing.T, err error) {
	t.Helper()
	shown := fmt.Sprintf("%v %+v %#v", err, err, err)
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		shown += fmt.Sprintf(" %+v %#v", inner, inner)
	}
	url := base64.URLEncoding.EncodeToString(rawSecret())
	for _, text := range []string{secretText(), url, hex.EncodeToString(rawSecret()), string(rawSecret())} {
		for i := range len(text) - 8 {
			if strings.Contains(shown, text[i:i+8]) {
				t.Fatalf("shows %q of the key: %s", text[i:i+8], shown)
			}
		}
	}
}

func TestS2CommandStandardErrorIsMasked(t *testing.T) {
	t.Parallel()
	hexText := hex.EncodeToString(rawSecret())
	for name, said := range map[string]string{
		"key":                   secretText(),
		"url form":              base64.URLEncoding.EncodeToString(rawSecret()),
		"hexadecimal":           hexText,
		"upper case":            strings.ToUpper(hexText),
		"traced":                "+ echo " + secretText(),
		"quoted":                `{"key":"` + secretText() + `"}`,
		"assigned":              "KEY=" + secretText() + ";",
		"dump":                  fmt.Sprintf("00000000: % x", rawSecret()),
		"dump with colons":      strings.ReplaceAll(fmt.Sprintf("% x", rawSecret()), " ", ":"),
		"folded":                secretText()[:20] + "\n" + secretText()[20:40] + "\n",
		"coloured":              "\x1b[31m" + secretText() + "\x1b[0m",
		"at the edge of limit":  strings.Repeat("word ", maxSaid/5-2) + secretText(),
		"at the edge of buffer": strings.Repeat("word ", maxKeyText/5-2) + secretText() + strings.Repeat("x", 100),
		"one endless word":      strings.Repeat(secretText(), 1000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "said")
			if err := os.WriteFile(path, []byte(said), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, script := range []string{`cat "$1" >&2; exit 1`, `cat "$1" >&2; echo rubbish`, `cat "$1" "$1" >&2; cat "$1"; exit 1`} {
				_, err := Load(t.Context(), Source{Command: sh("echo denied: /etc/keys/x >&2; "+script, path)})
				if err == nil || !strings.Contains(err.Error(), "denied: /etc/keys/x") {
					t.Fatalf("%v: want an error with the harmless part", err)
				}
				wantUnseen(t, err)
			}
		})
	}
}

func TestS2QuietKeepsWhatHelps(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"":                           "",
		"line one\n\tline two\r\n":   "line one line two",
		"open /etc/lineshaft/a.key":  "open /etc/lineshaft/a.key",
		"AccessDeniedException: 403": "AccessDeniedException: 403",
		"broken \xff\xfe\x00 bytes":  "broken bytes",
		"got pass1234 there":         "got [masked] there", // printed on standard output as well
		"token s.a1B2c3D4e5F6g7H8":   "token s.[masked]",
	} {
		if got := quiet([]byte(said), false, []byte("pass1234 is")); got != want {
			t.Errorf("quiet(%q) = %q, want %q", said, got, want)
		}
	}
	if got := quiet([]byte("half a tok"), true, nil); got != "half a" {
		t.Errorf("a cut word stays: %q", got)
	}
}

// hangs is a command whose parts do not end by themselves: it makes a pipe's
// reader wait for as long as any of them lives.
func hangs(t *testing.T, script string) (argv []string, wantEnd func()) {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "alive")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	alive, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { alive.Close() })
	return sh(`exec 9>"$1"; echo $$ >&9; `+script, fifo), func() {
		t.Helper()
		if err := alive.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		if _, err := said.ReadFrom(alive); err != nil {
			t.Fatalf("a process is left: %v", err)
		}
		if _, err := strconv.Atoi(strings.TrimSpace(said.String())); err != nil {
			t.Fatalf("the command did not begin: %q", said.String())
		}
	}
}

func TestS1CommandThatHangsIsKilledWithItsChildren(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"sleep 600", "sleep 600 & sleep 600; wait", "trap '' TERM INT HUP; while :; do sleep 600; done", "cat >/dev/null; sleep 600"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			argv, wantEnd := hangs(t, script)
			_, err := keyFromCommand(t.Context(), argv, 2*time.Second) // enough to begin it on a busy machine
			if err == nil || !strings.Contains(err.Error(), "no key within 2s") {
				t.Error(err)
			}
			wantEnd()
		})
	}
}

func TestS1CommandThatLeavesItsOutputOpenIsRefused(t *testing.T) {
	t.Parallel()
	argv, wantEnd := hangs(t, "echo "+secretText()+"; sleep 600 & exit 0")
	_, err := keyFromCommand(t.Context(), argv, commandLimit)
	if err == nil || !strings.Contains(err.Error(), "holds its output open") {
		t.Errorf("got %v", err)
	}
	wantUnseen(t, err)
	wantEnd()
}

func TestS1CommandIsCancelled(t *testing.T) {
	t.Parallel()
	argv, wantEnd := hangs(t, "sleep 600")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := Load(ctx, Source{Command: argv}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	wantEnd()
}
