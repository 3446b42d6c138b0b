package shell

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/client"
)

// ProblemLines are what a message shows of problems.
func ProblemLines(problems []client.FileProblem) string {
	const most = 20
	var lines []string
	for _, p := range problems[:min(most, len(problems))] {
		lines = append(lines, OneLine(p.String()))
	}
	if len(problems) > most {
		lines = append(lines, fmt.Sprintf("and %d more", len(problems)-most))
	}
	return strings.Join(lines, "\n")
}

// The exit codes.
const (
	ExitOK       = 0
	ExitFailed   = 1
	ExitUsage    = 2
	ExitNotFound = 3
	ExitDenied   = 4
)

// ErrTold ends the command with exit code 1 when everything has been said.
var ErrTold = errors.New("reported already")

// HintError is an error with what to do next.
type HintError struct {
	Message string
	Hint    string
	Code    int
	Cause   error
}

// Error is the message alone.
func (e *HintError) Error() string { return e.Message }

// Unwrap is what led to it.
func (e *HintError) Unwrap() error { return e.Cause }

// Usage is a mistake in how the command was called.
func Usage(message, hint string) error {
	return &HintError{Message: message, Hint: hint, Code: ExitUsage}
}

// Failure is something that failed, with what to do next.
func Failure(cause error, message, hint string) error {
	return &HintError{Message: message, Hint: hint, Code: ExitFailed, Cause: cause}
}

// NotFound is about something that does not exist.
func NotFound(message, hint string) error {
	return &HintError{Message: message, Hint: hint, Code: ExitNotFound}
}

// Denied is about something that this caller may not have.
func Denied(cause error, message, hint string) error {
	return &HintError{Message: message, Hint: hint, Code: ExitDenied, Cause: cause}
}

// Complain prints an error with its hint and returns the exit code.
func (sh *Shell) Complain(err error) int {
	if errors.Is(err, ErrTold) {
		return ExitFailed
	}
	e := sh.Explain(err)
	fmt.Fprintf(sh.Err, "%s %s\n", sh.Paint(sh.ErrWidth, StyleBad, "Error:"), indentRest(Clean(e.Message)))
	if e.Hint != "" {
		fmt.Fprintf(sh.Err, "  %s\n", indentRest(Clean(e.Hint)))
	}
	return e.Code
}

// indentRest lines up the further lines of a message.
func indentRest(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ") }

// Explain turns any error into one that says what to do next.
func (sh *Shell) Explain(err error) *HintError {
	if hinted, ok := errors.AsType[*HintError](err); ok {
		return hinted
	}
	if apiErr, ok := errors.AsType[*client.Error](err); ok {
		return sh.explainAnswer(apiErr)
	}
	if local, ok := errors.AsType[*lineshaft.Error](err); ok {
		return sh.explainLocal(local, err)
	}
	if e := sh.explainNetwork(err); e != nil {
		return e
	}
	return &HintError{Message: err.Error(), Code: ExitFailed}
}

// explainLocal is about what a command did itself, without a server. Codes are for
// programs; messages say after a semicolon what to do next.
func (sh *Shell) explainLocal(e *lineshaft.Error, err error) *HintError {
	message, next, told := strings.Cut(e.Message, "; ")
	out := &HintError{Message: message, Code: ExitFailed, Cause: err}
	if e.Cause != nil && (e.Code == lineshaft.CodeInternal || e.Code == lineshaft.CodeUnavailable) {
		out.Message += ": " + e.Cause.Error() // the user of the command is the operator
	}
	switch {
	case told:
		out.Hint = strings.ToUpper(next[:1]) + next[1:] + "."
	case sh.Command != "":
		out.Hint = fmt.Sprintf("See `%s --help`.", sh.Command)
	}
	return out
}

// factoryField is the API's word for the flag --factory of commands that take several.
var factoryField = regexp.MustCompile(`\bfactory_uids\b(\[\d+\])?`)

func (sh *Shell) explainAnswer(e *client.Error) *HintError {
	out := &HintError{Message: factoryField.ReplaceAllString(e.Text(), "--factory"), Code: ExitFailed, Cause: e}
	if len(e.Problems) > 0 {
		out.Message = Count(len(e.Problems), "mistake") + ":\n" + ProblemLines(e.Problems)
		out.Hint = "Nothing was changed. Fix these and try again."
	}
	switch {
	case e.Code == "" && e.Status != http.StatusTooManyRequests:
		out.Message = fmt.Sprintf("what answers at %s is not a Lineshaft server: %d %s", sh.Address(), e.Status, e.Text())
		out.Hint = "Check the address in LINESHAFT_URL or --url."
	case e.Status == http.StatusUnauthorized:
		out.Code = ExitDenied
		out.Message = "the server does not accept this API key"
		out.Hint = "Set LINESHAFT_API_KEY to a valid key; an admin can create one with `lineshaft apikey create NAME`."
		if file := sh.adminKeyFile(); sh.VariableKey() != "" && isFile(file) && IsLoopback(sh.Address()) {
			out.Hint = fmt.Sprintf("Set LINESHAFT_API_KEY to a valid key, or unset it to use %s; an admin can create a key with `lineshaft apikey create NAME`.", file)
		}
		if sh.Saved != nil {
			out.Message = fmt.Sprintf("the server does not accept the API key of context %q", sh.Saved.Name)
			out.Hint = fmt.Sprintf("An admin can create a new one with `lineshaft apikey create NAME`; save it with: lineshaft context add %s --replace --url %s", ShellWord(sh.Saved.Name), ShellWord(sh.Saved.URL))
		}
		if sh.keyFile != "" {
			out.Hint = fmt.Sprintf("It came from %s, which belongs to another server. %s", sh.keyFile, out.Hint)
		}
	case e.Status == http.StatusForbidden:
		out.Code = ExitDenied
		if strings.HasPrefix(out.Message, "the role ") { // other refusals say themselves what would help
			out.Hint = "Your key's role does not allow it; an admin can create another with `lineshaft apikey create NAME --role ROLE`."
		}
	case e.Status == http.StatusNotFound:
		out.Code = ExitNotFound
		out.Hint = missingHint(e)
	case e.Status == http.StatusTooManyRequests:
		out.Hint = fmt.Sprintf("Too many requests: try again in %s.", max(e.RetryAfter, time.Second).Round(time.Second))
	case e.Status < http.StatusInternalServerError && out.Hint == "" && sh.Command != "": // the message itself says what would help
		out.Hint = fmt.Sprintf("See `%s --help`.", sh.Command)
	case e.Status >= http.StatusInternalServerError:
		out.Hint = "The server's log has the reason"
		if e.RequestID != "" {
			out.Hint += " under request " + e.RequestID
		}
		out.Hint += "; try again. If it keeps failing, `lineshaft doctor` on the server may show why."
	}
	return out
}

// missingHint says where to look for what is missing: for the thing that the server
// names, else for what the path is about.
func missingHint(e *client.Error) string {
	hints := map[string]string{
		"delivery":   "`lineshaft webhook deliveries WEBHOOK` shows the log of a webhook.",
		"webhook":    "`lineshaft webhook list` shows the webhooks of a factory.",
		"automation": "`lineshaft automation list` shows the automations of a factory.",
		"factory":    "`lineshaft factory list` shows the factories that your key may see.",
		"secret":     "`lineshaft secret list` shows the secrets.",
		"apikey":     "`lineshaft apikey list` shows the keys.",
		"revision":   "`lineshaft factory revisions FACTORY` shows them.",
		"run":        "`lineshaft runs list` shows the runs that your key may see.",
		"repository": "Check its name, and --forge-url of the server.",
	}
	noun, _, _ := strings.Cut(strings.TrimPrefix(e.Text(), "no "), ` "`)
	if hints[noun] != "" {
		return hints[noun]
	}
	for _, about := range []struct{ begins, has, noun string }{
		{"/secrets", "", "secret"},
		{"/apikeys", "", "apikey"},
		{"/factory", "/automations/", "automation"},
		{"/factory", "/webhooks/", "webhook"},
		{"/factory", "", "factory"},
		{"/agent/run", "", "run"},
		{"/agent/task", "", "run"},
	} {
		if strings.HasPrefix(e.Path, about.begins) && strings.Contains(e.Path, about.has) {
			return hints[about.noun]
		}
	}
	return ""
}

// explainNetwork is about requests that got no answer.
func (sh *Shell) explainNetwork(err error) *HintError {
	out := &HintError{Code: ExitFailed, Cause: err}
	dns, isDNS := errors.AsType[*net.DNSError](err)
	_, isCert := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case errors.Is(err, context.Canceled):
		out.Message = "interrupted"
	case errors.Is(err, syscall.ECONNREFUSED):
		out.Message = "nothing answers at " + sh.Address()
		out.Hint = "Start a server with `lineshaft serve`, or set LINESHAFT_URL to its address."
		if sh.Saved != nil {
			out.Hint = fmt.Sprintf("That is the address of context %q. Check that its server is running, or choose another: lineshaft context use NAME", sh.Saved.Name)
		}
	case isDNS:
		out.Message = fmt.Sprintf("there is no host named %s", dns.Name)
		out.Hint = "Check the address in LINESHAFT_URL or --url."
	case isCert:
		out.Message = fmt.Sprintf("the certificate of %s is not trusted: %v", sh.Address(), err)
		out.Hint = "Add its authority to this machine, or point SSL_CERT_FILE at it."
	case errors.Is(err, http.ErrSchemeMismatch):
		out.Message = sh.Address() + " does not speak HTTPS"
		out.Hint = "Write http:// in LINESHAFT_URL or --url."
	case isTimeout(err):
		out.Message = sh.Address() + " did not answer in time"
		out.Hint = "Check that the server is healthy: curl " + sh.Address() + "/readyz"
	default:
		return nil
	}
	return out
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return errors.Is(err, context.DeadlineExceeded) || ok && timeout.Timeout()
}
