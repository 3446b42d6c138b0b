package filter

import (
	"math"
	"testing"
)

// After 2^32 matches the rounds begin again; what is left of the first ones must
// not be taken for new.
func TestFilterSetRoundsBeginAgain(t *testing.T) {
	t.Parallel()
	sc := &scratch{
		round: math.MaxUint32,
		slots: []slotState{{}, {round: 1, listed: 1, masked: 1, node: 5, mask: 7}},
		conds: []condState{{round: 1, passed: true}},
		tried: []uint32{1},
	}
	sc.begin()
	if sc.round == 0 || sc.slots[1].round == sc.round || sc.slots[1].masked == sc.round || sc.slots[1].listed == sc.round ||
		sc.conds[0].round == sc.round || sc.tried[0] == sc.round {
		t.Errorf("round %d takes old entries for its own: %+v", sc.round, sc)
	}
	if sc.slots[0].round != sc.round {
		t.Error("the body itself is not in place")
	}
}

func TestFilterNoNumberIsZero(t *testing.T) {
	t.Parallel()
	if form, exponent := appendNumber(nil, nil); string(form) != "0" || exponent != 0 {
		t.Errorf("no number is %s", form)
	}
}
