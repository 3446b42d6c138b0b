package definition

import (
	"errors"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/catalog"
)

// checkFired says whether a trigger is one of the catalogue's. The field of its error is
// within the trigger.
func checkFired(t lineshaft.Trigger) error {
	if err := t.Validate(""); err != nil {
		return err
	}
	return catalog.Check(t)
}

// fieldOf is the field that an error blames.
func fieldOf(err error) string {
	if pub, ok := errors.AsType[*lineshaft.Error](err); ok {
		return pub.Field
	}
	return ""
}
