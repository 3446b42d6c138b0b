package tree

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Attributes are what programs have noted of a file or a folder, by name; those of the system
// are left out. ErrManyAttributes says that they take more than most bytes.
func (e *Entry) Attributes(most int) ([]Attribute, error) {
	// The name in its open folder: nothing on the way is followed.
	name := "/proc/self/fd/" + strconv.Itoa(e.walk.at) + "/" + e.Name
	n, err := unix.Llistxattr(name, nil)
	switch {
	case errors.Is(err, unix.ENOTSUP) || err == nil && n == 0: // nearly all
		return nil, nil
	case err == nil && n > most:
		return nil, ErrManyAttributes
	}
	buffer := make([]byte, most)
	if err == nil {
		n, err = unix.Llistxattr(name, buffer)
	}
	if err != nil {
		return nil, fmt.Errorf("list attributes: %w", err)
	}
	var found []Attribute
	for _, key := range strings.FieldsFunc(string(buffer[:n]), func(r rune) bool { return r == 0 }) {
		if !strings.HasPrefix(key, "user.") {
			continue
		}
		n, err := unix.Lgetxattr(name, key, buffer)
		if most -= n + len(key); errors.Is(err, unix.ERANGE) || err == nil && most < 0 {
			return nil, ErrManyAttributes
		}
		if err != nil {
			return nil, fmt.Errorf("read attribute: %w", err)
		}
		found = append(found, Attribute{Name: key, Value: string(buffer[:n])})
	}
	slices.SortFunc(found, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// SetAttributes gives attributes to a file or a folder.
func SetAttributes(name string, attributes []Attribute) error {
	for _, a := range attributes {
		if err := unix.Lsetxattr(name, a.Name, []byte(a.Value), 0); err != nil {
			return fmt.Errorf("set attribute: %w", err)
		}
	}
	return nil
}
