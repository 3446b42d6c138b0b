package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// CloneNewer is CloneBare for callers that have all that some commits lead to: dir gets only
// the objects that came later, and all branches and tags. It fails
// when there is no mirror, or when the host no longer has a part of these
// commits: then nobody may have it, and the caller wants a whole clone.
func (c *Client) CloneNewer(ctx context.Context, url, dir, credentials string, since []string) (commit string, err error) {
	a, err := c.address(url)
	if err != nil {
		return "", err
	}
	ctx, cancel := c.bounded(ctx, a, mirrorTimes)
	defer cancel()
	r, done, err := c.visit(ctx, a, credentials)
	defer done()
	if err != nil {
		return "", err
	}
	mirror := c.mirrorOf(a)
	if mirror == "" || len(since) == 0 || isYoung(mirror+".large") {
		return "", errNoMirror
	}
	l, err := c.list(ctx, r)
	if err != nil || l.head == "" || l.refs[l.head] != l.commit {
		return "", errors.Join(errNoMirror, err)
	}
	unlock, err := c.refresh(ctx, r, l, mirror)
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := c.stillHas(ctx, mirror, since); err != nil {
		return "", err
	}
	if err := c.borrow(ctx, r, mirror, dir); err != nil {
		return "", errors.Join(err, remove(context.WithoutCancel(ctx), dir))
	}
	news := append(slices.Sorted(maps.Values(l.refs)), "--not")
	err = c.run(ctx, call{
		args:  []string{"--git-dir=" + mirror, "pack-objects", "-q", "--revs", "--delta-base-offset", "--stdout"},
		stdin: strings.NewReader(strings.Join(append(news, since...), "\n") + "\n"),
		output: func(pack io.Reader) error {
			return c.run(ctx, call{args: []string{"--git-dir=" + filepath.Join(dir, ".git"), "index-pack", "--stdin"}, stdin: pack})
		},
	})
	if err != nil {
		return "", errors.Join(err, remove(context.WithoutCancel(ctx), dir))
	}
	return l.commit, nil
}

// stillHas checks that the branches and tags of a mirror lead to all that some commits
// lead to.
func (c *Client) stillHas(ctx context.Context, mirror string, commits []string) error {
	for _, commit := range commits {
		if err := checkCommit(commit); err != nil {
			return err
		}
	}
	var lost []byte
	err := c.run(ctx, call{
		args:  []string{"--git-dir=" + mirror, "rev-list", "--objects", "--max-count=1", "--stdin", "--not", "--branches", "--tags"},
		stdin: strings.NewReader(strings.Join(commits, "\n") + "\n"),
		output: func(r io.Reader) (err error) {
			lost, err = io.ReadAll(io.LimitReader(r, 256))
			return err
		},
	})
	if err == nil && len(lost) > 0 {
		err = errors.New("the host has taken something back")
	}
	return err
}

// borrow makes a clone without objects: git finds them in the mirror, until borrow removes
// the reference to it.
func (c *Client) borrow(ctx context.Context, r visited, mirror, dir string) error {
	err := c.clone(ctx, r.address, call{
		at:  address{kind: kindLocal, text: mirror, shown: r.shown},
		env: []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url." + mirror + ".insteadOf", "GIT_CONFIG_VALUE_0=" + r.text},
	}, dir, []string{"--no-checkout", "--reference=" + mirror})
	if err == nil {
		err = os.Remove(filepath.Join(dir, ".git", "objects", "info", "alternates"))
	}
	if err != nil {
		return fmt.Errorf("borrow from mirror: %w", err)
	}
	return nil
}
