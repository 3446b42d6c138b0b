package cli

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

// The exit codes.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitNotFound = 3
	exitDenied   = 4
)

// errTold ends the command with exit code 1 when everything has been said.
var errTold = errors.New("told already")

// hintError is an error with what to do next.
type hintError struct {
	message string
	hint    string
	code    int
	cause   error
}

func (e *hintError) Error() string { return e.message }

func (e *hintError) Unwrap() error { return e.cause }

// usage is a mistake in how the command was called.
func usage(message, hint string) error {
	return &hintError{message: message, hint: hint, code: exitUsage}
}

// failure is something that did not work, with what to do next.
func failure(cause error, message, hint string) error {
	return &hintError{message: message, hint: hint, code: exitFailed, cause: cause}
}

// complain prints an error with its hint and returns the exit code.
func (sh *shell) complain(err error) int {
	if errors.Is(err, errTold) {
		return exitFailed
	}
	e := sh.explain(err)
	fmt.Fprintf(sh.err, "%s %s\n", sh.paint(sh.errWidth, styleBad, "Error:"), indentRest(clean(e.message)))
	if e.hint != "" {
		fmt.Fprintf(sh.err, "  %s\n", indentRest(clean(e.hint)))
	}
	return e.code
}

// indentRest lines up the further lines of a message.
func indentRest(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ") }

// explain turns any error into one that says what to do next.
func (sh *shell) explain(err error) *hintError {
	if hinted, ok := errors.AsType[*hintError](err); ok {
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
	return &hintError{message: err.Error(), code: exitFailed}
}

// explainLocal is about what a command did itself, without a server. Codes are for
// programs; messages say behind a semicolon what to do next.
func (sh *shell) explainLocal(e *lineshaft.Error, err error) *hintError {
	message, next, told := strings.Cut(e.Message, "; ")
	out := &hintError{message: message, code: exitFailed, cause: err}
	if e.Cause != nil && (e.Code == lineshaft.CodeInternal || e.Code == lineshaft.CodeUnavailable) {
		out.message += ": " + e.Cause.Error() // whoever runs the command is the operator
	}
	switch {
	case told:
		out.hint = strings.ToUpper(next[:1]) + next[1:] + "."
	case sh.command != "":
		out.hint = fmt.Sprintf("See `%s --help`.", sh.command)
	}
	return out
}

// factoryField is the API's word for the flag --factory of commands that take several.
var factoryField = regexp.MustCompile(`\bfactory_uids\b(\[\d+\])?`)

func (sh *shell) explainAnswer(e *client.Error) *hintError {
	out := &hintError{message: factoryField.ReplaceAllString(e.Text(), "--factory"), code: exitFailed, cause: e}
	if len(e.Problems) > 0 {
		out.message = count(len(e.Problems), "mistake") + ":\n" + problemLines(e.Problems)
		out.hint = "Nothing was changed. Fix these and try again."
	}
	switch {
	case e.Code == "" && e.Status != http.StatusTooManyRequests:
		out.message = fmt.Sprintf("what answers at %s is not a Lineshaft server: %d %s", sh.address(), e.Status, e.Text())
		out.hint = "Check the address in LINESHAFT_URL or --url."
	case e.Status == http.StatusUnauthorized:
		out.code = exitDenied
		out.message = "the server does not accept this API key"
		out.hint = "Set LINESHAFT_API_KEY to a valid key; an admin makes one with `lineshaft apikey create NAME`."
		if sh.saved != nil {
			out.message = fmt.Sprintf("the server does not accept the API key of context %q", sh.saved.name)
			out.hint = fmt.Sprintf("An admin makes a new one with `lineshaft apikey create NAME`; keep it with: lineshaft context add %s --replace --url %s", shellWord(sh.saved.name), shellWord(sh.saved.URL))
		}
		if sh.keyFile != "" {
			out.hint = fmt.Sprintf("It came from %s, which belongs to another server. %s", sh.keyFile, out.hint)
		}
	case e.Status == http.StatusForbidden:
		out.code = exitDenied
		if strings.HasPrefix(out.message, "the role ") { // other refusals say themselves what would help
			out.hint = "Your key's role does not allow it; an admin makes another with `lineshaft apikey create NAME --role ROLE`."
		}
	case e.Status == http.StatusNotFound:
		out.code = exitNotFound
		out.hint = missingHint(e)
	case e.Status == http.StatusTooManyRequests:
		out.hint = fmt.Sprintf("Too many requests: try again in %s.", max(e.RetryAfter, time.Second).Round(time.Second))
	case e.Status < http.StatusInternalServerError && out.hint == "" && sh.command != "": // the message itself says what would help
		out.hint = fmt.Sprintf("See `%s --help`.", sh.command)
	case e.Status >= http.StatusInternalServerError:
		out.hint = "The server's log has the reason"
		if e.RequestID != "" {
			out.hint += " under request " + e.RequestID
		}
		out.hint += "; try again, and if it stays, `lineshaft doctor` on the server may tell."
	}
	return out
}

// missingHint says where to look for what is not there: for the thing that the server
// names, else for what the path is about.
func missingHint(e *client.Error) string {
	noun, _, _ := strings.Cut(strings.TrimPrefix(e.Text(), "no "), ` "`)
	if hint := map[string]string{
		"delivery":   "`lineshaft webhook deliveries WEBHOOK` shows the log of a webhook.",
		"webhook":    "`lineshaft webhook list` shows the webhooks of a factory.",
		"automation": "`lineshaft automation list` shows the automations of a factory.",
		"factory":    "`lineshaft factory list` shows the factories that your key may see.",
		"secret":     "`lineshaft secret list` shows the secrets.",
		"revision":   "`lineshaft factory revisions FACTORY` shows them.",
		"run":        "`lineshaft runs list` shows the runs that your key may see.",
		"repository": "Check its name, and --forge-url of the server.",
	}[noun]; hint != "" {
		return hint
	}
	path := e.Path
	switch {
	case strings.HasPrefix(path, "/secrets"):
		return "`lineshaft secret list` shows the secrets."
	case strings.HasPrefix(path, "/apikeys"):
		return "`lineshaft apikey list` shows the keys."
	case strings.HasPrefix(path, "/factory") && strings.Contains(path, "/automations/"):
		return "`lineshaft automation list` shows the automations of a factory."
	case strings.HasPrefix(path, "/factory") && strings.Contains(path, "/webhooks/"):
		return "`lineshaft webhook list` shows the webhooks of a factory."
	case strings.HasPrefix(path, "/factory"):
		return "`lineshaft factory list` shows the factories that your key may see."
	}
	if strings.HasPrefix(path, "/agent/run") || strings.HasPrefix(path, "/agent/task") {
		return "`lineshaft runs list` shows the runs that your key may see."
	}
	return ""
}

// explainNetwork is about requests that got no answer.
func (sh *shell) explainNetwork(err error) *hintError {
	out := &hintError{code: exitFailed, cause: err}
	dns, isDNS := errors.AsType[*net.DNSError](err)
	_, isCert := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case errors.Is(err, context.Canceled):
		out.message = "interrupted"
	case errors.Is(err, syscall.ECONNREFUSED):
		out.message = "nothing answers at " + sh.address()
		out.hint = "Start a server with `lineshaft serve`, or set LINESHAFT_URL to where it runs."
		if sh.saved != nil {
			out.hint = fmt.Sprintf("That is the address of context %q. Check that its server runs, or choose another: lineshaft context use NAME", sh.saved.name)
		}
	case isDNS:
		out.message = fmt.Sprintf("there is no host named %s", dns.Name)
		out.hint = "Check the address in LINESHAFT_URL or --url."
	case isCert:
		out.message = fmt.Sprintf("the certificate of %s is not trusted: %v", sh.address(), err)
		out.hint = "Add its authority to this machine, or point SSL_CERT_FILE at it."
	case errors.Is(err, http.ErrSchemeMismatch):
		out.message = sh.address() + " does not speak HTTPS"
		out.hint = "Write http:// in LINESHAFT_URL or --url."
	case isTimeout(err):
		out.message = sh.address() + " did not answer in time"
		out.hint = "Check that the server is well: curl " + sh.address() + "/readyz"
	default:
		return nil
	}
	return out
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return errors.Is(err, context.DeadlineExceeded) || ok && timeout.Timeout()
}
