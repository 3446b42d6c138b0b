package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// Limits of what Tree reads.
const (
	maxEntries = 500_000
	maxFiles   = 10_000
)

// Tree reads those files of a commit, which Head has named, that keep asks for.
// Links, submodules and names that lead out of the folder are left out.
func (c *Client) Tree(ctx context.Context, url, commit string, keep func(path string, size int64) bool) (map[string]string, error) {
	a, err := c.address(url)
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.bounded(ctx, a, 1)
	defer cancel()
	if a, err = c.findLocal(a); err != nil {
		return nil, err
	}
	if strings.HasPrefix(commit, folderPrefix) && a.kind == kindLocal && !isRepository(a.text) {
		return c.folderTree(ctx, a, commit, keep)
	}
	if err := checkCommit(commit); err != nil {
		return nil, err
	}
	var files map[string]string
	err = c.withCommit(ctx, a, commit, func(dir string) error {
		files, err = c.readTree(ctx, dir, commit, keep)
		return err
	})
	if err != nil {
		return nil, explain(ctx, a, nil, err)
	}
	return files, nil
}

// blob is a file of a tree.
type blob struct {
	id, path string
	size     int64
}

func (c *Client) readTree(ctx context.Context, dir, commit string, keep func(string, int64) bool) (map[string]string, error) {
	var wanted []blob
	left := c.cfg.MaxBytes
	err := c.run(ctx, call{
		args: []string{"--git-dir=" + dir, "ls-tree", "-r", "-l", "-z", "--full-tree", commit},
		output: func(r io.Reader) error {
			return eachBlob(r, func(b blob) error {
				if !keep(b.path, b.size) {
					return nil
				}
				if left -= b.size; left < 0 || len(wanted) >= maxFiles {
					return tooMuch(c.cfg.MaxBytes)
				}
				wanted = append(wanted, b)
				return nil
			})
		},
	})
	if err != nil || len(wanted) == 0 {
		return map[string]string{}, err
	}
	return c.readBlobs(ctx, dir, wanted)
}

func tooMuch(bytes int64) error {
	return &lineshaft.Error{
		Code:    lineshaft.CodePayloadTooLarge,
		Message: fmt.Sprintf("the repository has more than %d files or %d MiB that would have to be read; name a smaller folder in it", maxFiles, bytes>>20),
	}
}

// eachBlob reads what ls-tree prints: mode, type, id and size, a tab, a path, a NUL.
func eachBlob(r io.Reader, each func(blob) error) error {
	entries := bufio.NewReader(r)
	for n := 0; ; n++ {
		line, err := entries.ReadString(0)
		if errors.Is(err, io.EOF) && line == "" {
			return nil
		}
		if err != nil {
			return unexpected(err)
		}
		if n >= maxEntries {
			return &lineshaft.Error{Code: lineshaft.CodePayloadTooLarge, Message: fmt.Sprintf("the repository has more than %d files", maxEntries)}
		}
		head, path, _ := strings.Cut(strings.TrimSuffix(line, "\x00"), "\t")
		fields := strings.Fields(head)
		if len(fields) != 4 || fields[1] != "blob" || !strings.HasPrefix(fields[0], "100") || !plainPath(path) {
			continue
		}
		size, err := strconv.ParseInt(fields[3], 10, 64)
		if err != nil {
			return fmt.Errorf("size of a file: %w", err)
		}
		if err := each(blob{id: fields[2], path: path, size: size}); err != nil {
			return err
		}
	}
}

// unexpected is the end of output that git had begun: it says itself why.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// plainPath says whether a path stays where it is put, and outside of .git.
func plainPath(path string) bool {
	if !fs.ValidPath(path) || path == "." || strings.ContainsAny(path, "\\\x00") {
		return false
	}
	for part := range strings.SplitSeq(path, "/") {
		if strings.EqualFold(part, ".git") {
			return false
		}
	}
	return true
}

func (c *Client) readBlobs(ctx context.Context, dir string, wanted []blob) (map[string]string, error) {
	files := make(map[string]string, len(wanted))
	ids := make([]string, 0, len(wanted))
	for _, b := range wanted {
		ids = append(ids, b.id)
	}
	err := c.run(ctx, call{
		args:  []string{"--git-dir=" + dir, "cat-file", "--batch"},
		stdin: strings.NewReader(strings.Join(ids, "\n") + "\n"),
		output: func(r io.Reader) error {
			in := bufio.NewReader(r)
			for _, b := range wanted {
				text, err := readBlob(in, b)
				if err != nil {
					return err
				}
				files[b.path] = text
			}
			return nil
		},
	})
	return files, err
}

// readBlob reads what cat-file prints of one object: id, type and size, a newline,
// the bytes, a newline.
func readBlob(in *bufio.Reader, b blob) (string, error) {
	head, err := in.ReadString('\n')
	if err != nil {
		return "", unexpected(err)
	}
	if want := fmt.Sprintf("%s blob %d\n", b.id, b.size); head != want {
		return "", fmt.Errorf("object %s: git printed %q", b.id, lineshaft.Clip(head, 80))
	}
	text := make([]byte, b.size)
	if _, err := io.ReadFull(in, text); err != nil {
		return "", unexpected(err)
	}
	_, err = in.Discard(1)
	return string(text), err
}
