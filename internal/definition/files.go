package definition

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// ReadFS reads a folder. Git's own folder is left out, and so are files that are not
// used and not text.
func ReadFS(folder fs.FS) (Files, error) {
	c := collector{files: Files{}}
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("read folder: %w", err)
		case entry.IsDir():
			if entry.Name() == ".git" {
				return fs.SkipDir
			}
			return nil
		case entry.Name() == ".git": // of a worktree
			return nil
		case !entry.Type().IsRegular():
			return notRegular(name)
		}
		file, err := folder.Open(name)
		if err != nil {
			return fmt.Errorf("read folder: %w", err)
		}
		return errors.Join(c.add(name, file), file.Close())
	})
	return c.files, err
}

// ReadTar reads a tar.gz of a folder, which may have the folder's name in front of
// every path.
func ReadTar(archive io.Reader) (Files, error) {
	unpacked, err := gzip.NewReader(archive)
	if err != nil {
		return nil, lineshaft.Invalid("", "this is not a tar.gz file; make it with tar -czf - -C FOLDER .")
	}
	c := collector{files: Files{}}
	// Besides the files there are headers, and what is left out is also read.
	reader := tar.NewReader(io.LimitReader(unpacked, 4*MaxBytes))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return withoutFolder(c.files), nil
		}
		if err != nil {
			return nil, lineshaft.Invalid("", "the tar.gz is broken or too large; make it with tar -czf - -C FOLDER .")
		}
		name := strings.TrimPrefix(header.Name, "./")
		switch header.Typeflag {
		case tar.TypeDir, tar.TypeXGlobalHeader:
			continue
		case tar.TypeReg:
		default:
			_, below, _ := strings.Cut(name, "/") // it may have the folder's name in front
			for _, place := range []string{name, below} {
				if err := notRegular(place); err != nil {
					return nil, err
				}
			}
			continue
		}
		if !safePath(name) {
			return nil, lineshaft.Invalid("", "the tar.gz has the path %q, which may lead out of the folder; make it with tar -czf - -C FOLDER .", lineshaft.Clip(strings.ToValidUTF8(name, "?"), 200))
		}
		if _, twice := c.files[name]; twice {
			return nil, lineshaft.Invalid("", "the tar.gz has %q twice; make it with tar -czf - -C FOLDER .", lineshaft.Clip(name, 200))
		}
		if slices.Contains(strings.Split(name, "/"), ".git") {
			continue
		}
		if err := c.add(name, reader); err != nil {
			return nil, err
		}
	}
}

// collector gathers files within the limits.
type collector struct {
	files Files
	count int
	bytes int64
}

func (c *collector) add(name string, from io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(from, MaxFileBytes+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	c.count++
	c.bytes += int64(len(text))
	switch {
	case c.count > MaxFiles:
		return tooLarge("the folder has more than %d files", MaxFiles)
	case c.bytes > MaxBytes:
		return tooLarge("the files have more than %d bytes in total", MaxBytes)
	case len(text) > MaxFileBytes:
		return tooLarge("%s has more than %d bytes", name, MaxFileBytes)
	case !storable(string(text)) && unused(strings.Split(name, "/")):
		return nil
	}
	c.files[name] = string(text)
	return nil
}

func tooLarge(format string, args ...any) error {
	return &lineshaft.Error{Code: lineshaft.CodePayloadTooLarge, Message: fmt.Sprintf(format, args...) + "; check that this is the folder of a factory, and keep large files elsewhere"}
}

// notRegular refuses a link where something is read. Links elsewhere are ignored.
func notRegular(name string) error {
	if parts := strings.Split(name, "/"); name == "" || unused(parts) && !slices.Contains(folders(), parts[0]) {
		return nil
	}
	return lineshaft.Invalid("", "%s is a link or no ordinary file; put a copy of the file in its place", lineshaft.Clip(strings.ToValidUTF8(name, "?"), 200))
}

// withoutFolder removes the one folder that all files are in, when the factory is
// in it.
func withoutFolder(files Files) Files {
	if _, ok := files[factoryFile]; ok {
		return files
	}
	top := ""
	for name := range files {
		first, _, nested := strings.Cut(name, "/")
		if !nested || top != "" && first != top {
			return files
		}
		top = first
	}
	if _, ok := files[path.Join(top, factoryFile)]; !ok {
		return files
	}
	out := Files{}
	for name, text := range files {
		out[strings.TrimPrefix(name, top+"/")] = text
	}
	return out
}
