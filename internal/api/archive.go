package api

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/definition"
)

const gzipType = "application/gzip"

// accepts says whether an Accept header names a media type.
func accepts(header, wanted string) bool {
	for part := range strings.SplitSeq(header, ",") {
		if kind, _, err := mime.ParseMediaType(part); err == nil && kind == wanted {
			return true
		}
	}
	return false
}

// readArchive unpacks the body of an operation that takes a folder, if it is a
// tar.gz; otherwise it leaves it alone.
func readArchive(r *http.Request, limit int64) (bool, error) {
	body := bufio.NewReader(r.Body)
	magic, _ := body.Peek(2) // what cannot be read is told by who reads it
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if string(magic) != "\x1f\x8b" && kind != gzipType && kind != "application/x-gzip" {
		r.Body = io.NopCloser(body)
		return false, nil
	}
	if r.ContentLength > limit {
		return true, archiveTooLarge(limit)
	}
	bounded := &io.LimitedReader{R: body, N: limit + 1}
	files, err := definition.ReadTar(bounded)
	switch {
	case bounded.N <= 0:
		return true, archiveTooLarge(limit)
	case err != nil:
		if _, ours := errors.AsType[*lineshaft.Error](err); ours {
			return true, err
		}
		return true, &lineshaft.Error{Code: lineshaft.CodeInvalidRequest, Message: "the body is not a tar.gz that can be read; make it with tar -cz -C folder .", Cause: err}
	}
	var unpacked int64
	for _, text := range files {
		unpacked += int64(len(text))
	}
	if unpacked > limit { // what packs well must not get more work done than it could as JSON
		return true, archiveTooLarge(limit)
	}
	infoFrom(r.Context()).files = files
	return true, nil
}

func archiveTooLarge(limit int64) error {
	return &lineshaft.Error{Code: lineshaft.CodePayloadTooLarge, Message: "the folder is larger than " + sizeText(limit) + "; leave out what is no part of the definition"}
}

func sizeText(n int64) string {
	if n == smallBody {
		return "1 MiB"
	}
	return "16 MiB"
}

// folderArchive answers with a tar.gz that is the same for the same files.
func (s *server) folderArchive(ctx context.Context, name string, files definition.Files) *streamOutput {
	return s.attachment(ctx, fileInfo{name: name, kind: gzipType, size: -1}, func(w *recorder) error {
		zip := gzip.NewWriter(w)
		out := tar.NewWriter(zip)
		for _, path := range slices.Sorted(maps.Keys(files)) {
			header := &tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: 0o644, Size: int64(len(files[path]))}
			if err := out.WriteHeader(header); err != nil {
				return err
			}
			if _, err := io.WriteString(out, files[path]); err != nil {
				return err
			}
		}
		return errors.Join(out.Close(), zip.Close())
	})
}
