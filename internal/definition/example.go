package definition

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed example
var example embed.FS

// Example is a folder to begin with: it can be applied as it is.
func Example(name string) Files {
	files := Files{}
	folder, err := fs.Sub(example, "example")
	if err == nil {
		files, err = ReadFS(folder)
	}
	if err != nil {
		return Files{} // it is part of the program, and a test reads it
	}
	quoted := (&yamlWriter{plain: true}).scalarText(name, false)
	files[factoryFile] = strings.Replace(files[factoryFile], "NAME", quoted, 1)
	files["README.md"] = strings.Replace(files["README.md"], "NAME", name, 1)
	return files
}
