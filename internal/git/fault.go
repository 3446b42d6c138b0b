package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/lineshaft/lineshaft"
)

// fault is a way in which git fails, known by what it says on its standard error.
type fault struct {
	signs []string
	tell  func(a address, asked bool, cause error) *lineshaft.Error
}

func notFound(cause error, format string, args ...any) *lineshaft.Error {
	return &lineshaft.Error{Code: lineshaft.CodeNotFound, Message: fmt.Sprintf(format, args...), Cause: cause}
}

// faults are tried in order: some texts have the signs of several.
var faults = []fault{
	{
		signs: []string{"not our ref", "couldn't find remote ref", "Server does not allow request for unadvertised object", "nonexistent object"},
		tell: func(a address, _ bool, cause error) *lineshaft.Error {
			return notFound(cause, "%s no longer has the commit that was asked for; try again", a.shown)
		},
	},
	{
		signs: []string{"fsck error", "index-pack failed", "bad object", "invalid index-pack output", "is corrupt", "pack has bad"},
		tell: func(a address, _ bool, cause error) *lineshaft.Error {
			return &lineshaft.Error{
				Code: lineshaft.CodeInvalidRequest, Cause: cause,
				Message: a.shown + " holds objects that are damaged or not safe to read; check it with git fsck",
			}
		},
	},
	{
		signs: []string{"could not read Username", "could not read Password", "terminal prompts disabled", "returned error: 401"},
		tell: func(a address, asked bool, cause error) *lineshaft.Error {
			if asked {
				return refused(a, cause)
			}
			return notFound(cause, "there is no repository at %s, or it is not public; check the address, and that the server has credentials for it", a.shown)
		},
	},
	{
		signs: []string{"Authentication failed", "returned error: 403", "Permission denied", "Host key verification failed", "Access denied", "not granted", "invalid credentials"},
		tell:  func(a address, _ bool, cause error) *lineshaft.Error { return refused(a, cause) },
	},
	{
		signs: []string{"returned error: 301", "returned error: 302", "returned error: 307", "returned error: 308"},
		tell: func(a address, _ bool, cause error) *lineshaft.Error {
			return notFound(cause, "%s redirects to another place, which is not followed; use the address that it leads to", a.shown)
		},
	},
	{
		signs: []string{
			"returned error: 404", "Repository not found", "' not found", "does not appear to be a git repository",
			"does not exist", "No such file or directory", "not a git repository", "not valid: is this a git repository",
		},
		tell: func(a address, _ bool, cause error) *lineshaft.Error {
			return notFound(cause, "there is no repository at %s, or it is not open to this server; check the address", a.shown)
		},
	},
}

func refused(a address, cause error) *lineshaft.Error {
	return &lineshaft.Error{
		Code: lineshaft.CodeNotAuthorized, Cause: cause,
		Message: a.shown + " refused access; check the credentials, and that they may read it",
	}
}

// explain turns an error of run into one that people may see.
func explain(ctx context.Context, a address, login *login, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("read repository: %w", context.Cause(ctx))
	}
	if _, public := errors.AsType[*lineshaft.Error](err); public {
		return err
	}
	said, ok := errors.AsType[*commandError](err)
	if !ok {
		return fmt.Errorf("read repository: %w", err)
	}
	if full := diskFault(said.stderr); full != nil && a.kind != kindSSH {
		return lineshaft.Unavailable(errors.Join(full, err), "this machine's disk has no room for %s; make room and try again", a.shown)
	}
	for _, f := range faults {
		for _, sign := range f.signs {
			if strings.Contains(said.stderr, sign) {
				return f.tell(a, login != nil, err)
			}
		}
	}
	return silent(a, err)
}

// diskFault is what git says when this machine's disk fails it, which it would otherwise call a
// damaged repository. What the other side says begins with "remote:" or "fatal: remote error:",
// over HTTP; over SSH the two cannot be told apart.
func diskFault(stderr string) error {
	for line := range strings.Lines(strings.ToLower(stderr)) {
		ours := strings.HasPrefix(line, "fatal: ") || strings.HasPrefix(line, "error: ")
		for _, full := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT} {
			if ours && !strings.HasPrefix(line, "fatal: remote error:") && strings.HasSuffix(strings.TrimSpace(line), ": "+full.Error()) {
				return full
			}
		}
	}
	return nil
}

// silent is for forges that do not answer, and for all that git says that we do not know.
func silent(a address, cause error) *lineshaft.Error {
	return lineshaft.Unavailable(cause, "%s does not answer; check that this server can reach it", a.shown)
}
