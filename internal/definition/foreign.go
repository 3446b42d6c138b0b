package definition

import (
	"errors"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/cron"
	"github.com/lineshaft/lineshaft/internal/forge"
)

// checkTiming reads a cron expression and its time zone. The field of its error is
// within the schedule.
func checkTiming(t lineshaft.Timing) error {
	if err := t.Validate(""); err != nil {
		return err
	}
	_, err := cron.Parse(t)
	return err
}

// checkFired says whether a trigger can ever fire. The field of its error is within
// the trigger.
func checkFired(t lineshaft.Trigger) error {
	if err := t.Validate(""); err != nil || !t.Forge() {
		return err
	}
	_, err := forge.Compile(t)
	return err
}

// fieldOf is the field that an error blames.
func fieldOf(err error) string {
	if pub, ok := errors.AsType[*lineshaft.Error](err); ok {
		return pub.Field
	}
	return ""
}
